import type { BoardChange, FoundState } from '@pctodl/nvml-control'
import { describe, expect, it, vi } from 'vitest'
import type { BoardKeeper } from '../src/board-keeper.js'
import { endLeasesOf } from '../src/client-connection.js'
import { HeldLease, type Holder } from '../src/held-lease.js'
import { Policy } from '../src/policy.js'

const board = 'GPU-1'
const peer = { pid: 1, uid: 1000, gid: 1000, groups: [1000] }
const rule = { users: [1000], boards: ['*'], smClockMhz: { min: 500, max: 1200 } }
const policy = Policy.parse(JSON.stringify({ format: 'pctodl-policy', version: 1, rules: [rule] }))
const unlock: BoardChange = { kind: 'sm-clock', range: null }

describe('a policy that bounds the clock', () => {
  it('lets nobody take away a lock that somebody else has set', () => {
    const found = { smClockLock: { minMhz: 210, maxMhz: 1000 } } as FoundState
    expect(() => policy.assertMayChange(peer, board, unlock, found)).toThrow(/may not set/)
    const asFound: BoardChange = { kind: 'sm-clock', range: { minMhz: 210, maxMhz: 1000 } }
    expect(() => policy.assertMayChange(peer, board, asFound, found)).not.toThrow()
  })

  it('lets the holder of a lease take away its own', () => {
    expect(() => policy.assertMayChange(peer, board, unlock, { smClockLock: null } as FoundState)).not.toThrow()
  })
})

describe('a policy that says less than it seems to', () => {
  const whole = (rest: string) => () => Policy.parse(`{ "format": "pctodl-policy", "version": 1, ${rest} }`)

  it('is refused: of a key that is there twice one would be lost', () => {
    expect(whole('"rules": [], "ceilings": [{ "boards": ["*"] }], "ceilings": []')).toThrow(/a key twice/)
    expect(whole('"rules": [{ "users": [1], "boards": ["*"], "boards": ["GPU-1"] }]')).toThrow(/a key twice/)
    expect(
      whole('"rules": [{ "users": [1], "boards": ["GPU-1"] }, { "users": [1], "boards": ["GPU-1"] }]'),
    ).not.toThrow()
    expect(() => Policy.parse('{"rules":[":","\\":"]')).toThrow(/until it is right/)
  })

  it('is refused: a ceiling for a MIG instance, which has no limit of its own', () => {
    expect(whole('"rules": [], "ceilings": [{ "boards": ["MIG-1"], "powerLimitW": 200 }]')).toThrow(/a board/)
  })
})

it('a lease lasts as long as it lasts, also where somebody sets the time of day', () => {
  const holder = { peer, program: 'test', onEnded: () => {} }
  const device = { subject: 'GPU 0', computeProcesses: () => [] }
  const lease = new HeldLease({ target: board, holder, device, mpsFolder: '/nowhere', onMps: () => {} })
  const later = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 86_400_000)
  expect(lease.lastedMs).toBeLessThan(60_000)
  later.mockReturnValue(0)
  expect(lease.lastedMs).toBeGreaterThanOrEqual(0)
  later.mockRestore()
})

it('a lease ends with its holder also on a board that is found only while the holder leaves', async () => {
  const holder: Holder = { peer, program: 'test', onEnded: () => {} }
  const ended = vi.fn(async () => [])
  let boards: readonly BoardKeeper[] = []
  const found = Promise.resolve().then(() => {
    boards = [{ endThose: ended } as unknown as BoardKeeper]
  })
  await endLeasesOf(holder, () => boards, 'it has gone', found)
  expect(ended).toHaveBeenCalledOnce()
})
