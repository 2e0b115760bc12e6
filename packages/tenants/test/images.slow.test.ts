import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { SeededRandom } from '@pctodl/numerics'
import { imageFolder, syntheticImages } from '@pctodl/tenants'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { assertImageCount } from '../src/images/image-pool.js'
import type { ImageFile } from '../src/protocol/messages.js'

const scratch = mkdtempSync(path.join(tmpdir(), 'pctodl-images-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true, maxRetries: 5 }))
const PLANE = 224 * 224

/** The values of a pool's images, whose file must have the size that the pool states. */
function readImages({ file, count, channels, height, width }: ImageFile): Float32Array {
  const bytes = readFileSync(file)
  expect(bytes.byteLength).toBe(4 * count * channels * height * width)
  return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)
}

function momentsOf(pixels: Float32Array): { mean: number; deviation: number } {
  const mean = pixels.reduce((sum, value) => sum + value, 0) / pixels.length
  const squares = pixels.reduce((sum, value) => sum + (value - mean) ** 2, 0)
  return { mean, deviation: Math.sqrt(squares / pixels.length) }
}

describe('synthetic images', () => {
  it('have the statistics of normalised photographs, and the values of bytes', async () => {
    const { images, description } = await syntheticImages({ folder: path.join(scratch, 'a'), count: 2, seed: 5 })
    expect(description).toContain('2 synthetic images')
    const pixels = readImages(images)
    const { mean, deviation } = momentsOf(pixels)
    expect(Math.abs(mean)).toBeLessThan(0.05)
    expect(deviation).toBeGreaterThan(0.9)
    expect(deviation).toBeLessThan(1.05)
    const levels = new Set(pixels.subarray(0, PLANE))
    expect(levels.size).toBeLessThanOrEqual(256)
    expect(levels.size).toBeGreaterThan(200)
  })

  it('are those of the seed, and every image another', async () => {
    const draw = async (name: string, seed: number) =>
      readImages((await syntheticImages({ folder: path.join(scratch, name), count: 2, seed })).images)
    const first = await draw('b', 1)
    expect(await draw('c', 1)).toEqual(first)
    expect((await draw('d', 2)).subarray(0, 100)).not.toEqual(first.subarray(0, 100))
    expect(first.subarray(0, 100)).not.toEqual(first.subarray(3 * PLANE, 3 * PLANE + 100))
  })
})

describe('prepared images', () => {
  it('are 32 of seed 1 where nobody says, and no other number or seed has their name', async () => {
    const folder = path.join(scratch, 'defaults')
    const { images, description } = await syntheticImages({ folder })
    expect(images.count).toBe(32)
    expect(description).toMatch(/^32 synthetic images .*seed 1\)$/)
    expect(images).toEqual((await syntheticImages({ folder, count: 32, seed: 1 })).images)
    const others = await Promise.all([
      syntheticImages({ folder, count: 1, seed: 1 }),
      syntheticImages({ folder, count: 1, seed: 2 }),
    ])
    expect(new Set([images.file, ...others.map((other) => other.images.file)]).size).toBe(3)
  })

  it('are one to 4096', () => {
    for (const count of [1, 2, 4096]) expect(() => assertImageCount(count)).not.toThrow()
    for (const count of [0, -1, 4097, 1.5, Number.NaN]) expect(() => assertImageCount(count)).toThrow(/1 to 4096/)
  })
})

describe('images of a folder', () => {
  const tiny = path.join(scratch, 'tiny-imagenet-200')
  const caltech = path.join(scratch, '256_ObjectCategories')
  const plain = (channels: 3 | 4, background: { r: number; g: number; b: number; alpha?: number }) =>
    sharp({ create: { width: 64, height: 48, channels, background } })

  beforeAll(async () => {
    for (const [wnid, red] of [
      ['n01443537', 255],
      ['n01629819', 128],
    ] as const) {
      const folder = path.join(tiny, 'train', wnid, 'images')
      mkdirSync(folder, { recursive: true })
      for (let i = 0; i < 3; i++) {
        await plain(3, { r: red, g: 10 * i, b: 0 })
          .png()
          .toFile(path.join(folder, `${wnid}_${i}.PNG`))
      }
    }
    mkdirSync(path.join(caltech, '001.ak47'), { recursive: true })
    await plain(3, { r: 99, g: 99, b: 99 })
      .greyscale()
      .jpeg()
      .toFile(path.join(caltech, '001.ak47', '001_0001.jpg'))
    await plain(4, { r: 0, g: 0, b: 255, alpha: 0.5 })
      .png()
      .toFile(path.join(caltech, '001.ak47', '001_0002.png'))
    writeFileSync(path.join(caltech, '001.ak47', '001_0003.jpg'), 'not an image')
    writeFileSync(path.join(caltech, '001.ak47', 'README'), 'not an image either')
  })

  it('are found in the layout of Tiny ImageNet, normalised, drawn by the seed', async () => {
    const draw = (name: string, count: number, seed: number) =>
      imageFolder({ dataset: tiny, folder: path.join(scratch, name), count, seed })
    const { images, description } = await draw('e', 4, 1)
    expect(images).toMatchObject({ count: 4, channels: 3, height: 224, width: 224 })
    expect(description).toBe(`4 of 6 images of ${tiny} (seed 1)`)
    const pixels = readImages(images)
    for (let i = 0; i < 4; i++) {
      const red = pixels[3 * PLANE * i]!
      const [bright, middle] = [255, 128].map((value) => (value / 255 - 0.485) / 0.229)
      expect(Math.min(Math.abs(red - bright!), Math.abs(red - middle!))).toBeLessThan(0.02)
      expect(pixels[3 * PLANE * i + 2 * PLANE]).toBeCloseTo(-0.406 / 0.225, 5)
    }
    expect(readImages((await draw('f', 4, 1)).images)).toEqual(pixels)
    expect(readImages((await draw('f', 6, 2)).images).subarray(0, pixels.length)).not.toEqual(pixels)
  })

  it('may be grey, transparent or broken', async () => {
    const { images, description } = await imageFolder({ dataset: caltech, folder: path.join(scratch, 'g') })
    expect(description).toBe(`2 of 3 images of ${caltech} (seed 1, 1 broken ones passed over)`)
    expect(images.count).toBe(2)
    const pixels = readImages(images)
    const means = [0, 1].map((i) => [0, 1, 2].map((channel) => pixels[(3 * i + channel) * PLANE]!))
    const grey = means.find(([red]) => red! > -1.9)!
    expect(grey[0]! * 0.229 + 0.485).toBeCloseTo(grey[2]! * 0.225 + 0.406, 2)
    const blue = means.find((candidate) => candidate !== grey)!
    expect(blue[2]! * 0.225 + 0.406).toBeCloseTo(1, 5)
    // The second time it comes from the prepared file, with the same words.
    expect((await imageFolder({ dataset: caltech, folder: path.join(scratch, 'g') })).description).toBe(description)
  })

  it('are the pixels of the files, plane after plane, and nothing else', async () => {
    const dataset = path.join(scratch, 'noise')
    mkdirSync(dataset)
    const random = new SeededRandom(9)
    const bytes = Uint8Array.from({ length: 3 * PLANE }, () => random.integer(256))
    await sharp(bytes, { raw: { width: 224, height: 224, channels: 3 } })
      .png()
      .toFile(path.join(dataset, 'colour.png'))
    const pixels = readImages((await imageFolder({ dataset, folder: path.join(scratch, 'i') })).images)
    const [means, deviations] = [
      [0.485, 0.456, 0.406],
      [0.229, 0.224, 0.225],
    ] as const
    const back = Uint8Array.from(pixels, (value, i) => {
      const channel = Math.floor(i / PLANE)
      return Math.round(255 * (value * deviations[channel]! + means[channel]!))
    })
    const planes = [0, 1, 2].map((channel) => bytes.filter((_, i) => i % 3 === channel))
    expect([0, 1, 2].map((channel) => back.subarray(channel * PLANE, (channel + 1) * PLANE))).toEqual(planes)
  })

  it('of one channel are the same on all three', async () => {
    const dataset = path.join(scratch, 'grey')
    mkdirSync(dataset)
    const random = new SeededRandom(10)
    const bytes = Uint8Array.from({ length: PLANE }, () => random.integer(256))
    await sharp(bytes, { raw: { width: 224, height: 224, channels: 1 } })
      .toColourspace('b-w')
      .png()
      .toFile(path.join(dataset, 'grey.png'))
    const pixels = readImages((await imageFolder({ dataset, folder: path.join(scratch, 'i') })).images)
    const planes = [0, 1, 2].map((channel) => {
      const [mean, deviation] = [
        [0.485, 0.229],
        [0.456, 0.224],
        [0.406, 0.225],
      ][channel] as [number, number]
      const plane = pixels.subarray(channel * PLANE, (channel + 1) * PLANE)
      return Uint8Array.from(plane, (value) => Math.round(255 * (value * deviation + mean)))
    })
    expect(planes).toEqual([bytes, bytes, bytes])
  })

  it('are 128 of seed 1 where nobody says, and prepared anew for other files, another number or seed', async () => {
    const folder = path.join(scratch, 'j')
    const fileOf = async (options: { count?: number; seed?: number } = {}) =>
      (await imageFolder({ dataset: tiny, folder, ...options })).images.file
    const usual = await fileOf()
    expect(await fileOf({ count: 128, seed: 1 })).toBe(usual)
    const more = path.join(tiny, 'train', 'one more.png')
    await plain(3, { r: 1, g: 2, b: 3 }).png().toFile(more)
    try {
      const files = [usual, await fileOf(), await fileOf({ count: 1 }), await fileOf({ count: 1, seed: 2 })]
      expect(new Set(files).size).toBe(4)
    } finally {
      rmSync(more)
    }
  })

  it('have to be there', async () => {
    const folder = path.join(scratch, 'h')
    await expect(imageFolder({ dataset: '/no/such/folder', folder })).rejects.toThrow(/an existing folder/)
    mkdirSync(path.join(scratch, 'empty'))
    await expect(imageFolder({ dataset: path.join(scratch, 'empty'), folder })).rejects.toThrow(/with images/)
    const broken = path.join(scratch, 'broken')
    mkdirSync(broken)
    writeFileSync(path.join(broken, 'a.jpg'), 'no')
    await expect(imageFolder({ dataset: broken, folder })).rejects.toThrow(/none of the 1 can be decoded/)
    await expect(imageFolder({ dataset: tiny, folder, count: 0 })).rejects.toThrow(/1 to 4096/)
  })
})
