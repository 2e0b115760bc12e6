import type { BoardChange, FoundState } from '@pctodl/nvml-control'
import { describe, expect, it } from 'vitest'
import { parsePolicy } from '../src/policy.js'

const board = 'GPU-1'
const peer = { pid: 1, uid: 1000, gid: 1000, groups: [1000] }
const rule = { users: [1000], boards: ['*'], smClockMhz: { min: 500, max: 1200 } }
const policy = parsePolicy(JSON.stringify({ format: 'pctodl-policy', version: 1, rules: [rule] }))
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
