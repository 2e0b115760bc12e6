import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { LineSplitter, parseCommand, parseReport, torchWorkerFile } from '@pctodl/tenants'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { monotonicMs } from '../src/protocol/monotonic.js'

const hasPython = spawnSync('python3', ['-V']).status === 0

const start = {
  type: 'start',
  version: 1,
  model: 'resnet50',
  modelFile: null,
  mpsPercent: 25,
  batchSize: 8,
  images: { file: '/tmp/images.f32', count: 8, channels: 3, height: 224, width: 224 },
  logFile: null,
  sampleBytes: null,
  memoryLimitBytes: null,
  options: {},
}

const wrongCommands: [string, unknown, RegExp][] = [
  ['another version', { ...start, version: 3 }, /version/],
  ['a start of version 2 without its mode', { ...start, version: 2, batchSizes: [] }, /mode/],
  ['a mode that is none', { ...start, version: 2, batchSizes: [], mode: 'idle' }, /mode/],
  ['a start of version 1 with what came later', { ...start, mode: 'free' }, /mode/],
  ['more requests than the batch has room for', { type: 'run', id: 1, requests: 5, batchSize: 4 }, /requests/],
  ['a batch of nothing', { type: 'batch', id: 1, batchSize: 'many' }, /batchSize/],
  ['something unknown', { type: 'dance' }, /type/],
  ['a field too many', { type: 'drain', id: 1, force: true }, /force|drain/],
  ['a missing field', { type: 'report' }, /id/],
]

describe('commands', () => {
  it('are understood', () => {
    const serving = { ...start, version: 2, mode: 'on-request', batchSizes: [1, 2, 4, 8] }
    const run = { type: 'run', id: 3, requests: 5, batchSize: 8 }
    for (const command of [start, serving, run, { type: 'batch', id: 1, batchSize: 4 }, { type: 'drain', id: 2 }]) {
      expect(parseCommand(JSON.stringify(command))).toEqual(command)
    }
  })

  it.each(wrongCommands)('are refused: %s', (_, command, message) => {
    expect(() => parseCommand(JSON.stringify(command))).toThrow(message)
  })

  it.skipIf(!hasPython).each(wrongCommands)(
    'are refused by the Python worker too (needs python3): %s',
    (_, command, message) => {
      const worker = spawnSync('python3', [torchWorkerFile()], { input: `${JSON.stringify(command)}\n` })
      const report = parseReport(String(worker.stdout).split('\n')[0]!)
      expect(report).toMatchObject({ type: 'failed', reason: 'error', message: expect.stringMatching(message) })
    },
  )
})

describe('reports', () => {
  const progress = {
    type: 'progress',
    samples: 8,
    batches: 1,
    latencySumMs: 3.5,
    lastCompletionMs: 100,
    batchSize: 8,
    latenciesMs: [3.5],
  }

  it.each([
    ['counters that are none', { ...progress, samples: 0.5 }, /samples/],
    ['a time before all time', { ...progress, lastCompletionMs: -1 }, /lastCompletionMs/],
    ['latencies of nobody', { ...progress, latenciesMs: ['fast'] }, /latenciesMs/],
    ['an unknown reason', { type: 'failed', reason: 'tired', message: '' }, /reason/],
  ])('are refused: %s', (_, report, message) => {
    expect(parseReport(JSON.stringify(progress))).toEqual(progress)
    expect(() => parseReport(JSON.stringify(report))).toThrow(message)
  })
})

describe('LineSplitter', () => {
  it('finds the same lines however the bytes are cut', () => {
    const line = fc.string({ unit: 'grapheme', maxLength: 30 }).map((text) => JSON.stringify({ text }))
    fc.assert(
      fc.property(fc.array(line, { maxLength: 8 }), fc.array(fc.nat(40), { maxLength: 20 }), (lines, cuts) => {
        const bytes = Buffer.from(lines.map((text) => `${text}\n`).join(''))
        const splitter = new LineSplitter()
        const found: string[] = []
        let from = 0
        for (const cut of cuts) {
          found.push(...splitter.push(bytes.subarray(from, from + cut)))
          from = Math.min(bytes.length, from + cut)
        }
        found.push(...splitter.push(bytes.subarray(from)))
        expect(found).toEqual(lines)
      }),
    )
  })

  it('gives up on a line without an end', () => {
    const splitter = new LineSplitter()
    expect(() => splitter.push(Buffer.alloc(2 << 20, 'a'))).toThrow(/more than 1048576 bytes/)
  })
})

it('times are ms of the clock that only goes on', () => {
  const [seconds, nanoseconds] = process.hrtime()
  const sinceMs = monotonicMs() - (1000 * seconds + nanoseconds / 1e6)
  expect(sinceMs).toBeGreaterThanOrEqual(-1e-3)
  expect(sinceMs).toBeLessThan(60_000)
})

it('the Python worker comes with the package', () => {
  expect(path.basename(torchWorkerFile())).toBe('pctodl_torch_worker.py')
})
