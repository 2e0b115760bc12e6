import { describe, expect, it } from 'vitest'
import { expectEnds, type FieldEnds } from '../../../test/field-ends.js'
import { type LeaseRecord, parseLeaseRecord } from '../src/lease/lease-record.js'

const record: LeaseRecord = {
  format: 'pctodl-lease',
  version: 1,
  leaseId: '8f14e45f-ceea-467f-9a2d-1c1f0a3b5c7d',
  gpu: { uuid: 'GPU-1', index: 0, name: 'A100' },
  owner: { pid: 1, startTime: 0, bootId: 'b', uid: 0, program: 'node' },
  acquiredAt: '2026-01-01T00:00:00.000Z',
  found: { powerLimitW: null, computeMode: null, persistence: null, smClockLock: null, memClockLock: null },
  touched: [],
}
const gpu = (change: object) => ({ ...record, gpu: { ...record.gpu, ...change } })
const owner = (change: object) => ({ ...record, owner: { ...record.owner, ...change } })
const found = (change: object) => ({ ...record, found: { ...record.found, ...change } })

const mhz = [
  [1, 100_000],
  [0, -1, 100_001, 1005.5, '1005'],
] as const
const fields: readonly FieldEnds[] = [
  ['format', (format) => ({ ...record, format }), ['pctodl-lease'], ['pctodl', null]],
  ['version', (version) => ({ ...record, version }), [1], [0, 2, '1']],
  ['leaseId', (leaseId) => ({ ...record, leaseId }), [record.leaseId], ['', '../1', 1]],
  ['gpu.uuid', (uuid) => gpu({ uuid }), ['GPU-1', 'a_b'], ['', 'GPU/1', '../GPU-1', 'GPU-1\n']],
  ['gpu.index', (index) => gpu({ index }), [0, 15], [-1, 0.5, '0']],
  ['owner.pid', (pid) => owner({ pid }), [1, 4_194_304], [0, -1, 1.5]],
  ['owner.startTime', (startTime) => owner({ startTime }), [0, 1e12], [-1, null]],
  ['owner.uid', (uid) => owner({ uid }), [0, 65_534], [-1, 0.5]],
  ['owner.program', (program) => owner({ program }), ['', 'p'.repeat(64)], ['p'.repeat(65), null]],
  ['found.powerLimitW', (powerLimitW) => found({ powerLimitW }), [null, 0.001, 350], [0, -1, '350']],
  [
    'found.computeMode',
    (computeMode) => found({ computeMode }),
    [null, 'default', 'exclusive-thread', 'prohibited', 'exclusive-process'],
    ['exclusive', 0],
  ],
  ['found.persistence', (persistence) => found({ persistence }), [null, true, false], [0, 'on']],
  ['found.smClockLock.minMhz', (minMhz) => found({ smClockLock: { minMhz, maxMhz: 1 } }), ...mhz],
  ['found.memClockLock.maxMhz', (maxMhz) => found({ memClockLock: { minMhz: 1, maxMhz } }), ...mhz],
  [
    'touched.0',
    (kind) => ({ ...record, touched: [kind] }),
    ['sm-clock', 'mem-clock', 'power-limit', 'compute-mode', 'persistence'],
    ['everything', null],
  ],
  ['lastError', (lastError) => ({ ...record, lastError }), ['', 'NO_PERMISSION'], [null, 1]],
]

describe('the journal of a lease', () => {
  it.each(fields)('%s is taken up to its ends, and refused by name beyond them', (...field) =>
    expectEnds(parseLeaseRecord, field),
  )

  it('has all its fields and no others: what it says is what a board is set to', () => {
    for (const name of Object.keys(record)) {
      const without = Object.fromEntries(Object.entries(record).filter(([key]) => key !== name))
      expect(() => parseLeaseRecord(JSON.stringify(without))).toThrow(new RegExp(`^${name}: `))
    }
    expect(() => parseLeaseRecord(JSON.stringify({ ...record, more: 1 }))).toThrow(/^the whole: .*more/)
    expect(() => parseLeaseRecord(JSON.stringify(found({ fanPercent: 50 })))).toThrow(/^found: .*fanPercent/)
    expect(() => parseLeaseRecord('[]')).toThrow(/^the whole: /)
  })
})
