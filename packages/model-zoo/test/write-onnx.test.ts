import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { exportOnnx } from '../src/index.js'
import { writeOnnx } from '../src/node.js'
import { openSession, run } from './onnx-model.js'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'pctodl-onnx-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

describe('writing ONNX files', () => {
  it('writes one file into a folder that it makes', () => {
    const out = path.join(folder, 'new', 'models')
    const [file] = writeOnnx('mobilenetv2', out, { seed: 3, inputSize: 96 })
    expect(file!.path).toBe(path.join(out, 'mobilenet_v2.onnx'))
    expect(readdirSync(out)).toEqual(['mobilenet_v2.onnx'])
    const { model } = exportOnnx('mobilenet_v2', { seed: 3, inputSize: 96 })
    expect(Buffer.compare(readFileSync(path.join(out, 'mobilenet_v2.onnx')), model)).toBe(0)
  })

  it('writes the weights beside the model, where a runtime finds them', async () => {
    writeOnnx('mobilenet_v2', folder, { weights: 'external', inputSize: 32 })
    expect(readdirSync(folder).sort()).toEqual(['mobilenet_v2.onnx', 'mobilenet_v2.onnx.data'])
    const image = new Float32Array(3 * 32 * 32).fill(0.5)
    const outside = await run(await openSession(path.join(folder, 'mobilenet_v2.onnx')), image, [1, 3, 32, 32])
    const inside = await run(
      await openSession(exportOnnx('mobilenet_v2', { inputSize: 32 }).model),
      image,
      [1, 3, 32, 32],
    )
    expect(outside['logits']).toEqual(inside['logits'])
  })

  it('says which file cannot be written, and leaves nothing unfinished', () => {
    const inTheWay = path.join(folder, 'mobilenet_v2.onnx')
    mkdirSync(inTheWay)
    expect(() => writeOnnx('mobilenet_v2', folder, { inputSize: 32 })).toThrow(/mobilenet_v2\.onnx/)
    expect(readdirSync(folder)).toEqual(['mobilenet_v2.onnx'])
  })
})

it('takes the place of an older file', () => {
  writeFileSync(path.join(folder, 'mobilenet_v2.onnx'), 'old')
  const [file] = writeOnnx('mobilenet_v2', folder)
  expect(readFileSync(file!.path).byteLength).toBe(file!.byteLength)
})
