import { describe, expect, it } from 'vitest'
import { judgeState } from '../src/mps-state.js'

describe('the state that is seen', () => {
  const daemon = { pid: 7, startTime: 1 }
  const server = (status: 'ACTIVE' | 'FAULT') => ({ pid: 8, status, activeThreadPercentage: 100, clients: [9] })

  it.each([
    ['stopped', daemon, [server('ACTIVE')], 'active'],
    ['active', daemon, [server('ACTIVE'), server('FAULT')], 'fault'],
    ['active', daemon, null, 'fault'],
    ['draining', daemon, [], 'draining'],
    ['stopped', null, null, 'stopped'],
    ['active', null, null, 'fault'],
    ['fault', null, null, 'fault'],
    ['stopped', null, [], 'active'],
  ] as const)('after %s, with process %j and servers %j, is %s', (before, process, servers, state) => {
    const seen = judgeState(before, process, servers)
    expect(seen.state).toBe(state)
    expect(seen.reason === undefined).toBe(state !== 'fault')
  })
})
