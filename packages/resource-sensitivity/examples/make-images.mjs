// Write a small data set of JPEG images with something to see on them: gradients and noise, drawn from a seed.
//   node make-images.mjs <folder> [images] [width] [height]
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import sharp from 'sharp'

const [folder, images = '64', width = '640', height = '480'] = process.argv.slice(2)
const train = path.join(folder, 'train')
mkdirSync(train, { recursive: true })
let state = 1
for (let i = 0; i < Number(images); i++) {
  const pixels = Buffer.alloc(width * height * 3)
  for (let p = 0; p < pixels.length; p++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    pixels[p] = ((p / 3 + i * 37) % width) / 4 + (state >>> 27)
  }
  const raw = { width: Number(width), height: Number(height), channels: 3 }
  writeFileSync(path.join(train, `${String(i).padStart(5, '0')}.jpg`), await sharp(pixels, { raw }).jpeg().toBuffer())
}
