import { describe, expect, it } from 'vitest'
import { expectEnds, type FieldEnds } from '../../../test/field-ends.js'
import { LineSplitter } from '../src/protocol/line-splitter.js'
import { LONGEST_LINE, parseCommand, parseReport } from '../src/protocol/messages.js'

const images = { file: '/tmp/images.f32', count: 8, channels: 3, height: 224, width: 224 }
const start = {
  type: 'start',
  version: 1,
  model: 'resnet50',
  modelFile: null,
  mpsPercent: 25,
  batchSize: 8,
  images,
  logFile: null,
  sampleBytes: null,
  memoryLimitBytes: null,
  options: {},
}
const serving = { ...start, version: 2, mode: 'on-request', batchSizes: [] }
const progress = {
  type: 'progress',
  samples: 0,
  batches: 0,
  latencySumMs: 0,
  lastCompletionMs: 0,
  batchSize: 1,
  latenciesMs: [],
}
const failed = { type: 'failed', reason: 'out-of-memory', message: '' }

const count = [
  [0, 1, 1e9],
  [-1, 0.5, '1', null],
] as const
const size = [
  [1, 4096],
  [0, -1, 1.5, '1', null],
] as const
const timeMs = [
  [0, 0.001, 1e12],
  [-0.001, '1', null],
] as const

const commands: readonly FieldEnds[] = [
  ['command.batchSize', (batchSize) => ({ ...start, batchSize }), ...size],
  ...(['count', 'channels', 'height', 'width'] as const).map(
    (name): FieldEnds => [
      `command.images.${name}`,
      (value) => ({ ...start, images: { ...images, [name]: value } }),
      ...size,
    ],
  ),
  ['command.modelFile', (modelFile) => ({ ...start, modelFile }), [null, '', 'a.onnx'], [0]],
  ['command.logFile', (logFile) => ({ ...start, logFile }), [null, 'a.jsonl'], [0]],
  ['command.sampleBytes', (sampleBytes) => ({ ...start, sampleBytes }), [null, 0, 1.5], ['1']],
  ['command.memoryLimitBytes', (memoryLimitBytes) => ({ ...start, memoryLimitBytes }), [null, 0, 1e12], ['1']],
  ['command.options', (options) => ({ ...start, options }), [{}, { threads: 1 }], [null, 'fast']],
  ['command.mode', (mode) => ({ ...serving, mode }), ['free', 'on-request'], ['idle', null]],
  ['command.batchSizes.1', (last) => ({ ...serving, batchSizes: [1, last] }), ...size],
  ['command.batchSize', (batchSize) => ({ type: 'batch', id: 0, batchSize }), ...size],
  ['command.requests', (requests) => ({ type: 'run', id: 0, requests, batchSize: 8 }), [1, 8], [0, 9, 1.5]],
  ['command.batchSize', (batchSize) => ({ type: 'run', id: 0, requests: 1, batchSize }), ...size],
  ...['report', 'drain', 'batch', 'run'].map((type): FieldEnds => {
    const rest = { batch: { batchSize: 1 }, run: { requests: 1, batchSize: 1 } }[type] ?? {}
    return ['command.id', (id) => ({ type, id, ...rest }), ...count]
  }),
]

const reports: readonly FieldEnds[] = [
  ['report.version', (version) => ({ type: 'hello', version, runtime: 'a', device: 'b' }), [1, 2], [0, 3, '1']],
  ['report.note', (note) => ({ type: 'hello', version: 1, runtime: 'a', device: 'b', note }), ['', 'CPU'], [null, 1]],
  ['report.atMs', (atMs) => ({ type: 'ready', atMs }), ...timeMs],
  ['report.atMs', (atMs) => ({ type: 'heartbeat', atMs }), ...timeMs],
  ['report.samples', (samples) => ({ ...progress, samples }), ...count],
  ['report.batches', (batches) => ({ ...progress, batches }), ...count],
  ['report.latencySumMs', (latencySumMs) => ({ ...progress, latencySumMs }), ...timeMs],
  ['report.lastCompletionMs', (lastCompletionMs) => ({ ...progress, lastCompletionMs }), ...timeMs],
  ['report.batchSize', (batchSize) => ({ ...progress, batchSize }), ...size],
  ['report.latenciesMs.0', (latencyMs) => ({ ...progress, latenciesMs: [latencyMs] }), ...timeMs],
  ['report.id', (id) => ({ ...progress, id }), ...count],
  ['report.id', (id) => ({ type: 'answered', id, atMs: 0, batchMs: 0 }), ...count],
  ['report.atMs', (atMs) => ({ type: 'answered', id: 0, atMs, batchMs: 0 }), ...timeMs],
  ['report.batchMs', (batchMs) => ({ type: 'answered', id: 0, atMs: 0, batchMs }), ...timeMs],
  ['report.reason', (reason) => ({ ...failed, reason }), ['out-of-memory', 'missing', 'error'], ['tired', null]],
  ['report.batchSize', (batchSize) => ({ ...failed, batchSize }), ...size],
  ['report.largestBatchSize', (largestBatchSize) => ({ ...failed, largestBatchSize }), [null, 1, 4096], [0, 1.5, '1']],
  ['report.id', (id) => ({ type: 'drained', id }), ...count],
]

describe('the protocol of workers', () => {
  it.each(commands)('%s is taken up to its ends, and refused by name beyond them', (...field) =>
    expectEnds(parseCommand, field),
  )

  it.each(reports)('%s is taken up to its ends, and refused by name beyond them', (...field) =>
    expectEnds(parseReport, field),
  )

  it.each([
    ['command', parseCommand, [start, serving, { type: 'run', id: 1, requests: 1, batchSize: 1 }]],
    ['report', parseReport, [progress, { type: 'ready', atMs: 1 }, { type: 'answered', id: 1, atMs: 1, batchMs: 1 }]],
  ] as const)('a %s has all its fields, and no others', (_, parse, messages) => {
    for (const message of messages) {
      for (const name of Object.keys(message)) {
        const without = Object.fromEntries(Object.entries(message).filter(([key]) => key !== name))
        expect(() => parse(JSON.stringify(without)), `${message.type} without ${name}`).toThrow(`.${name}`)
      }
      expect(() => parse(JSON.stringify({ ...message, more: 1 })), message.type).toThrow(/more/)
    }
  })

  it('shows the beginning of what is no message, and not all of it', () => {
    const shown = (text: string) => {
      try {
        parseReport(text)
      } catch (error) {
        return (error as Error).message
      }
    }
    expect(shown('x'.repeat(200))).toContain(`${'x'.repeat(200)}`)
    expect(shown('x'.repeat(200))).not.toContain(' ...')
    expect(shown('x'.repeat(201))).toContain(`${'x'.repeat(200)} ...`)
    expect(shown(JSON.stringify({ type: 'y'.repeat(300) }))).not.toContain('y'.repeat(201))
  })
})

describe('a line', () => {
  it('is as long as a line may be, and no longer', () => {
    const longest = Buffer.alloc(LONGEST_LINE, 'a')
    const splitter = new LineSplitter()
    expect(splitter.push(longest)).toEqual([])
    expect(splitter.push(Buffer.from('\n'))).toEqual([longest.toString()])
    splitter.push(longest)
    expect(() => splitter.push(Buffer.from('a'))).toThrow(expect.objectContaining({ code: 'LINE_TOO_LONG' }))
  })
})
