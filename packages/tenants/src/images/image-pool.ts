import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { InvalidInputError } from '@pctodl/platform'
import { z } from 'zod'
import type { ImageFile } from '../protocol/messages.js'

/** Side length of the images, pixels. The supported networks take 224 x 224. */
export const IMAGE_SIZE = 224

/** Mean of ImageNet's pixel values (0..1) in each channel, by which torchvision normalises images. */
const CHANNEL_MEAN = [0.485, 0.456, 0.406] as const
/** Standard deviation of ImageNet's pixel values (0..1) per channel. */
const CHANNEL_DEVIATION = [0.229, 0.224, 0.225] as const

/** Prepared images and their description. */
export interface ImagePool {
  readonly images: ImageFile
  readonly description: string
}

/**
 * Returns the images that are stored under this name in a folder, and prepares them if there are none. All workers of
 * all policies read the same file.
 *
 * @param prepare returns the images, normalised and in channel-height-width order, and their description
 */
export async function imagePool(
  folder: string,
  name: string,
  prepare: () => Promise<{ readonly pixels: readonly Float32Array[]; readonly description: string }>,
): Promise<ImagePool> {
  const file = path.join(folder, `${name}.f32`)
  const facts = path.join(folder, `${name}.json`)
  if (!existsSync(facts)) {
    const { pixels, description } = await prepare()
    mkdirSync(folder, { recursive: true })
    const all = Buffer.concat(pixels.map((image) => new Uint8Array(image.buffer, image.byteOffset, image.byteLength)))
    writeWhole(file, all)
    // The description is written last, so if it exists, the pixel file is complete.
    writeWhole(facts, JSON.stringify({ count: pixels.length, description }))
  }
  const { count, description } = factsSchema.parse(JSON.parse(readFileSync(facts, 'utf8')))
  return { images: { file, count, channels: 3, height: IMAGE_SIZE, width: IMAGE_SIZE }, description }
}

const factsSchema = z.object({ count: z.int().min(1), description: z.string() })

/**
 * Returns a normalised image in channel-height-width order.
 *
 * @param byteOf returns the value (0..255) of a pixel in a channel with this mean and deviation
 */
export function imageOf(
  byteOf: (pixel: number, channel: number, mean: number, deviation: number) => number,
): Float32Array {
  const plane = IMAGE_SIZE * IMAGE_SIZE
  const values = new Float32Array(CHANNEL_MEAN.length * plane)
  for (const [channel, mean] of CHANNEL_MEAN.entries()) {
    const deviation = CHANNEL_DEVIATION[channel]!
    for (let k = 0; k < plane; k++) {
      values[channel * plane + k] = (byteOf(k, channel, mean, deviation) / 255 - mean) / deviation
    }
  }
  return values
}

/**
 * Checks the number of images.
 * @throws InvalidInputError
 */
export function assertImageCount(count: number): void {
  if (!Number.isInteger(count) || count < 1 || count > 4096) {
    throw new InvalidInputError('count', count, 'an integer of 1 to 4096 images')
  }
}

/**
 * Writes a file atomically: writes a new file, then renames it. The new file's name cannot be guessed, so that nobody
 * can place a link there first.
 */
export function writeWhole(file: string, content: string | Uint8Array): void {
  const unfinished = `${file}.${randomBytes(8).toString('hex')}.${process.pid}.unfinished`
  writeFileSync(unfinished, content, { flag: 'wx' })
  renameSync(unfinished, file)
}
