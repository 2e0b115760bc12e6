import { SeededRandom, seedFrom } from '@pctodl/numerics'
import {
  assertImageCount,
  CHANNEL_DEVIATION,
  CHANNEL_MEAN,
  IMAGE_SIZE,
  IMAGE_VALUES,
  type ImagePool,
  imagePool,
} from './image-pool.js'

export interface SyntheticImagesOptions {
  /** Folder in which the prepared images are stored. */
  readonly folder: string
  /** Default 32. */
  readonly count?: number
  /** Default 1. */
  readonly seed?: number
}

/**
 * Creates images of noise with the mean and deviation of ImageNet's pixels, rounded to the 256 values of a pixel.
 * Random values toggle as many bits as real images. With zeros instead, a board draws up to 40 % less power (arXiv
 * 2409.18324).
 */
export async function syntheticImages({ folder, count = 32, seed = 1 }: SyntheticImagesOptions): Promise<ImagePool> {
  assertImageCount(count)
  return imagePool(folder, `synthetic-${count}-${seed}`, async () => ({
    pixels: Array.from({ length: count }, (_, i) => noise(new SeededRandom(seedFrom('synthetic images', seed, i)))),
    description: `${count} synthetic images (noise with ImageNet's mean and deviation, seed ${seed})`,
  }))
}

function noise(random: SeededRandom): Float32Array {
  const pixels = new Float32Array(IMAGE_VALUES)
  const plane = IMAGE_SIZE * IMAGE_SIZE
  for (let channel = 0; channel < 3; channel++) {
    const mean = CHANNEL_MEAN[channel]!
    const deviation = CHANNEL_DEVIATION[channel]!
    for (let k = 0; k < plane; k++) {
      const value = Math.min(1, Math.max(0, mean + deviation * random.normal()))
      pixels[channel * plane + k] = (Math.round(255 * value) / 255 - mean) / deviation
    }
  }
  return pixels
}
