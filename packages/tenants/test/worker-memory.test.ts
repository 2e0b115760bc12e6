import { mkdtempSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import path from 'node:path'
import { onnxWorker, syntheticImages } from '@pctodl/tenants'
import { afterAll, describe, expect, it } from 'vitest'
import type { StartCommand } from '../src/protocol/messages.js'
import { assertFits, largestThatRuns, meansOutOfMemory, OutOfMemory } from '../src/worker/memory-guard.js'
import { OnnxModel } from '../src/worker/onnx-model.js'

const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-worker-memory-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
const { images } = await syntheticImages({ folder, count: 2 })
// Exported networks are kept: they are the same every time.
const cache = process.env['XDG_CACHE_HOME'] || path.join(homedir(), '.cache')
const kind = onnxWorker({ modelFolder: path.join(cache, 'pctodl-tenants', 'models'), program: 'none' })

const MIB = 1024 ** 2
type Counting = Extract<StartCommand, { version: 1 }>
const start = (more: Partial<Counting> = {}): Counting => ({
  type: 'start',
  version: 1,
  model: 'mobilenet_v2',
  modelFile: null,
  mpsPercent: 50,
  batchSize: 1,
  images,
  logFile: null,
  sampleBytes: null,
  memoryLimitBytes: null,
  options: {},
  ...more,
})

describe('the memory that a batch takes', () => {
  it('is refused above the limit, and said in MiB', () => {
    const limited = start({ sampleBytes: 3 * MIB, memoryLimitBytes: 12 * MIB })
    expect(() => assertFits(limited, 4)).not.toThrow()
    expect(() => assertFits(limited, 5)).toThrow(new OutOfMemory('needs about 15 MiB, 12 MiB are allowed'))
  })

  it('is not judged where either is not known', () => {
    expect(() => assertFits(start({ sampleBytes: 3 * MIB }), 1e9)).not.toThrow()
    expect(() => assertFits(start({ memoryLimitBytes: 1 }), 1e9)).not.toThrow()
  })

  it('is known from what runtimes say when it runs out', () => {
    for (const message of [
      'CUDA out of memory',
      'std::bad_alloc',
      'Failed to allocate memory',
      'Array buffer allocation failed',
    ])
      expect(meansOutOfMemory(new Error(message)), message).toBe(true)
    expect(meansOutOfMemory('cudaErrorMemoryAllocation')).toBe(true)
    expect(meansOutOfMemory(new OutOfMemory('needs more'))).toBe(true)
    expect(meansOutOfMemory(new Error('no such operator'))).toBe(false)
  })
})

describe('the largest batch that runs', () => {
  const upTo = (most: number, tried: number[] = []) => ({
    tried,
    run: (batchSize: number) => {
      tried.push(batchSize)
      if (batchSize > most) throw new OutOfMemory('too large')
    },
  })

  it('is the first of the halves that does', async () => {
    const { tried, run } = upTo(3)
    expect(await largestThatRuns(25, run)).toBe(3)
    expect(tried).toEqual([12, 6, 3])
    expect(await largestThatRuns(2, upTo(1).run)).toBe(1)
  })

  it('is none where one sample is too much, and nothing is smaller than one', async () => {
    const { tried, run } = upTo(0)
    expect(await largestThatRuns(4, run)).toBeNull()
    expect(tried).toEqual([2, 1])
    expect(await largestThatRuns(1, upTo(1).run)).toBeNull()
  })

  it('is not sought after another error', async () => {
    const run = () => {
      throw new Error('no such operator')
    }
    await expect(largestThatRuns(8, run)).rejects.toThrow('no such operator')
  })
})

describe('a network in ONNX Runtime', () => {
  it('runs batches of any size that memory allows, on the processor where there is nothing else', async () => {
    const { modelFile, sampleBytes } = await kind.launch({ model: 'mobilenet_v2', mpsPercent: 50, batchSize: 1 })
    expect(sampleBytes).toBeGreaterThan(2 * 4 * 3 * 224 * 224)
    const limited = { modelFile: modelFile!, sampleBytes: sampleBytes!, memoryLimitBytes: 3.5 * sampleBytes! }
    const model = await OnnxModel.load(start({ ...limited, options: { device: 'cpu' } }))
    expect(model).toMatchObject({ device: 'cpu', note: undefined })
    expect(model.runtime).toMatch(/^onnxruntime-node \d/)
    for (const batchSize of [1, 3, 2]) await model.run(batchSize)
    await expect(model.run(4)).rejects.toThrow(OutOfMemory)
    const anywhere = await OnnxModel.load(start({ ...limited }))
    if (anywhere.device === 'cpu') expect(anywhere.note).toMatch(/^on the processor: CUDA is not available \(.+\)$/)
    else expect(anywhere).toMatchObject({ device: 'cuda', note: undefined })
    await anywhere.run(1)
  })

  it('needs its file', async () => {
    await expect(OnnxModel.load(start())).rejects.toThrow('no ONNX file was given for mobilenet_v2')
  })
})
