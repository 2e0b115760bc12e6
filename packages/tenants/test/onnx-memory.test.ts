import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { freemem, tmpdir } from 'node:os'
import path from 'node:path'
import { layerGraph } from '@pctodl/model-zoo'
import { onnxWorker } from '@pctodl/tenants'
import { afterAll, describe, expect, it } from 'vitest'

const folder = mkdtempSync(path.join(tmpdir(), 'onnx-memory-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

describe('the memory that an onnxruntime worker is told of', () => {
  const launched = (model: string) =>
    onnxWorker({ modelFolder: folder, program: 'worker.js', memoryLimitBytes: 7 }).launch({
      model,
      mpsPercent: 50,
      batchSize: 1,
    })

  it('is for each sample its activations in single precision, and its input twice: as read and as fed', async () => {
    const { name, peakActivationElements } = layerGraph('resnet50')
    writeFileSync(path.join(folder, `${name}.onnx`), '')
    const image = new Float32Array(3 * 224 * 224)
    expect(await launched('resnet50')).toMatchObject({
      sampleBytes: 4 * peakActivationElements + 2 * image.byteLength,
      memoryLimitBytes: 7,
    })
  })

  it('is most of what is free where nobody says, and one thread computes', async () => {
    const file = path.join(folder, 'free.onnx')
    writeFileSync(file, '')
    const worker = onnxWorker({ modelFolder: folder, program: 'worker.js' })
    const { memoryLimitBytes, options } = await worker.launch({ model: file, mpsPercent: 50, batchSize: 1 })
    // Others on this machine take and give back memory meanwhile.
    expect(memoryLimitBytes! / freemem()).toBeGreaterThan(0.5)
    expect(memoryLimitBytes! / freemem()).toBeLessThan(1.2)
    expect(options).toEqual({ device: 'auto', threads: 1 })
  })

  it('is asked for no file that is not there', () => {
    expect(() => launched(path.join(folder, 'nowhere.onnx'))).toThrow('an existing ONNX file')
  })

  it('is not known of a file', async () => {
    const file = path.join(folder, 'mine.onnx')
    writeFileSync(file, '')
    expect(await launched(file)).not.toHaveProperty('sampleBytes')
  })
})
