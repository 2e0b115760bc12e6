import { SeededRandom, seedFrom } from '@pctodl/numerics'
import { assertImageCount, type ImagePool, imageOf, imagePool } from './image-pool.js'

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
  return imageOf((_pixel, _channel, mean, deviation) =>
    Math.round(255 * Math.min(1, Math.max(0, mean + deviation * random.normal()))),
  )
}
