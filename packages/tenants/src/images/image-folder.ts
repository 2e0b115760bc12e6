import { createHash } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { SeededRandom, seedFrom, shuffled } from '@pctodl/numerics'
import { InvalidInputError, PctodlError } from '@pctodl/platform'
import { assertImageCount, IMAGE_SIZE, type ImagePool, imageOf, imagePool } from './image-pool.js'

export interface ImageFolderOptions {
  /**
   * Folder that contains the images, directly or in subfolders, for example the unpacked Tiny ImageNet or Caltech-256.
   */
  readonly dataset: string
  /** Folder in which the prepared images are stored. */
  readonly folder: string
  /** Maximum number of images. Default 128. */
  readonly count?: number
  /** Seed that determines which images are chosen, and their order. Default 1. */
  readonly seed?: number
}

const IMAGE = /\.(jpe?g|png|webp|gif|tiff?|avif)$/i

/**
 * Prepares images from a folder. The seed chooses them; they are decoded, resized to 224 x 224, converted to three
 * channels (grey is replicated, alpha dropped) and normalised as in torchvision. Images that cannot be decoded are
 * skipped; the description says how many.
 *
 * @throws InvalidInputError if the folder has no image that can be decoded
 * @throws PctodlError `MISSING_PACKAGE` without the package `sharp`
 */
export async function imageFolder(options: ImageFolderOptions): Promise<ImagePool> {
  const { dataset, folder, count = 128, seed = 1 } = options
  assertImageCount(count)
  const files = imageFiles(dataset)
  if (files.length === 0)
    throw new InvalidInputError('dataset', dataset, 'a folder with images (jpg, png, webp ...) in it')
  const { default: sharp } = await import('sharp').catch((cause: unknown) => {
    throw new PctodlError('MISSING_PACKAGE', 'images are decoded by sharp; install it: npm install sharp', { cause })
  })
  const order = shuffled(files, new SeededRandom(seedFrom('image folder', seed)))
  const state = createHash('sha256')
    .update(JSON.stringify([path.resolve(dataset), files, count, seed]))
    .digest('hex')
  return imagePool(folder, `folder-${state.slice(0, 16)}`, async () => {
    const pixels: Float32Array[] = []
    let broken = 0
    for (const file of order) {
      if (pixels.length === count) break
      try {
        const bytes = await sharp(path.join(dataset, file))
          .resize(IMAGE_SIZE, IMAGE_SIZE, { fit: 'fill' })
          .removeAlpha()
          .toColourspace('srgb')
          .raw()
          .toBuffer()
        pixels.push(imageOf((pixel, channel) => bytes[3 * pixel + channel]!))
      } catch {
        broken++
      }
    }
    if (pixels.length === 0)
      throw new InvalidInputError('dataset', dataset, `decodable images; none of the ${broken} can be decoded`)
    const passedOver = broken > 0 ? `, ${broken} broken ones passed over` : ''
    return {
      pixels,
      description: `${pixels.length} of ${files.length} images of ${dataset} (seed ${seed}${passedOver})`,
    }
  })
}

/** Returns the paths below a folder, sorted so that the choice does not depend on the file system. */
function imageFiles(dataset: string): string[] {
  if (!statSync(dataset, { throwIfNoEntry: false })?.isDirectory()) {
    throw new InvalidInputError('dataset', dataset, 'an existing folder')
  }
  return readdirSync(dataset, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && IMAGE.test(entry.name))
    .map((entry) => path.relative(dataset, path.join(entry.parentPath, entry.name)))
    .sort()
}
