import { describe, expect, it } from 'vitest'
import { expectEnds, type FieldEnds, times } from '../../../test/field-ends.js'
import { parseServiceMessage, parseServiceRequest } from '../src/service/service-protocol.js'

const board = 'GPU-1'
const change = (each: object) => ({ type: 'change', board, change: each })
const smClock = (minMhz: unknown, maxMhz: unknown = minMhz) => change({ kind: 'sm-clock', range: { minMhz, maxMhz } })

const fields: readonly FieldEnds[] = [
  [
    'body.board',
    (uuid) => ({ type: 'acquire', board: uuid }),
    [board, 'MIG-1', 'gpu-ABCDEF', `GPU-${'0'.repeat(60)}`],
    ['GPU-', 'GPU', 'CPU-1', 'GPU-x', ' GPU-1', 'GPU-1 ', 'GPU-../1', `GPU-${'0'.repeat(61)}`, 0, null],
  ],
  [
    'body.versions',
    (versions) => ({ type: 'hello', versions, program: 'a' }),
    [[1], times(16, 1)],
    [[], times(17, 1), 1],
  ],
  ['body.versions.0', (version) => ({ type: 'hello', versions: [version], program: 'a' }), [1, 99], [0, 1.5, '1']],
  [
    'body.program',
    (program) => ({ type: 'hello', versions: [1], program }),
    ['a', 'A-z_0.9:/+', 'p'.repeat(64)],
    ['', 'p'.repeat(65), 'two words', 'a\n', 'ä', null],
  ],
  [
    'body.change.powerLimitW',
    (powerLimitW) => change({ kind: 'power-limit', powerLimitW }),
    [0.001, 250.5, 100_000],
    [0, -1, 100_001, '250', null],
  ],
  ['body.change.range.minMhz', (mhz) => smClock(mhz, 1), [1, 100_000], [0, -1, 100_001, 1005.5, '1005', null]],
  ['body.change.range.maxMhz', (mhz) => smClock(1, mhz), [1, 100_000], [0, -1, 100_001, 1005.5]],
  ['body.change.range', (range) => change({ kind: 'mem-clock', range }), [null, { minMhz: 1, maxMhz: 1 }], [810, {}]],
  [
    'body.change.mode',
    (mode) => change({ kind: 'compute-mode', mode }),
    ['default', 'exclusive-thread', 'prohibited', 'exclusive-process'],
    ['exclusive', 0, null],
  ],
  ['body.change.enabled', (enabled) => change({ kind: 'persistence', enabled }), [true, false], [1, 'true', null]],
  ['body.change.kind', (kind) => change({ kind, range: null }), ['sm-clock', 'mem-clock'], ['fan', 'clock', null]],
  [
    'body.defaultPercent',
    (defaultPercent) => ({ type: 'mps-start', board, defaultPercent }),
    [0.5, 100],
    [0, -1, 100.5, '50', null],
  ],
  ['body.graceMs', (graceMs) => ({ type: 'mps-stop', board, graceMs }), [0, 60_000], [-1, 60_001, 0.5, null]],
  ['body.pid', (pid) => ({ type: 'mps-verify', board, pid }), [1, 4_194_304], [0, -1, 1.5, '1', null]],
  ['body.uid', (uid) => ({ type: 'end-leases', uid, boards: null }), [null, 0, 65_534], [-1, 0.5, 'root']],
  [
    'body.workload',
    (workload) => ({ type: 'end-leases', uid: null, boards: null, workload }),
    ['slurm:1', `pod:${'0'.repeat(32)}`],
    ['slurm:', 'slurm:1x', 'job:1', null],
  ],
  [
    'body.boards',
    (boards) => ({ type: 'end-leases', uid: null, boards }),
    [null, [], times(64, board)],
    [times(65, board), board],
  ],
  ['body.type', (type) => ({ type, board }), ['acquire', 'verify', 'release'], ['steal', '', null]],
]

const requestOf = (body: unknown, id: unknown = 1) => parseServiceRequest(JSON.stringify({ id, body }))

describe('a request to the node service', () => {
  it.each(fields)('%s is taken up to its ends, and refused by name beyond them', (...field) =>
    expectEnds((text) => requestOf(JSON.parse(text)).body, field),
  )

  it('has a number from zero on, and no field that nobody knows', () => {
    const body = { type: 'status' } as const
    expect(requestOf(body, 0)).toEqual({ id: 0, body })
    for (const id of [-1, 0.5, '1', null, undefined]) expect(() => requestOf(body, id ?? null)).toThrow(/^id/)
    expect(() => requestOf({ ...body, board })).toThrow(/^body.*board/)
    expect(() => requestOf(change({ kind: 'persistence', enabled: true, share: 1 }))).toThrow(/^body\.change.*share/)
    expect(() => parseServiceRequest(JSON.stringify({ id: 1, body, more: 1 }))).toThrow(/^the whole.*more/)
    expect(() => parseServiceRequest('[]')).toThrow(/^the whole/)
    expect(() => parseServiceRequest('{')).toThrow(SyntaxError)
  })

  it('may leave out the share of an MPS daemon and the workload, and nothing else', () => {
    expect(requestOf({ type: 'mps-start', board }).body).toEqual({ type: 'mps-start', board })
    for (const [, bodyOf, [value]] of fields) {
      const body = bodyOf(value as never)
      for (const name of Object.keys(body).filter((each) => each !== 'workload' && each !== 'defaultPercent')) {
        const without = Object.fromEntries(Object.entries(body).filter(([key]) => key !== name))
        expect(() => requestOf(without), `${JSON.stringify(body)} without ${name}`).toThrow(/^body\./)
      }
    }
  })
})

describe('an answer of the node service', () => {
  const found = {
    powerLimitW: null,
    computeMode: null,
    persistence: null,
    smClockLock: { minMhz: 210, maxMhz: 1005 },
    memClockLock: null,
  }
  it('is a result, an error, or the end of a lease', () => {
    const ended = { event: 'lease-ended', board, reason: 'the operator ended it' }
    const refused = { id: null, error: { code: 'NOT_ALLOWED', message: 'no' } }
    for (const message of [{ id: 0, result: null }, { id: 0, result: { found } }, refused, ended]) {
      expect(parseServiceMessage(JSON.stringify(message))).toEqual(message)
    }
    for (const message of [{ id: null, result: 1 }, { id: 1, error: 'no' }, { ...ended, event: 'news' }, {}]) {
      expect(() => parseServiceMessage(JSON.stringify(message)), JSON.stringify(message)).toThrow()
    }
  })
})
