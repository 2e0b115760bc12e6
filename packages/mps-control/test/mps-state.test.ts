import { describe, expect, it } from 'vitest'
import { assertTransition, type MpsState } from '../src/mps-state.js'

const states: readonly MpsState[] = ['stopped', 'starting', 'active', 'draining', 'fault']

describe('the life of a daemon', () => {
  it.each([
    ['stopped', ['stopped', 'starting', 'active', 'fault']],
    ['starting', ['stopped', 'starting', 'active', 'fault']],
    ['active', ['active', 'draining', 'fault']],
    ['draining', ['stopped', 'draining', 'fault']],
    ['fault', states],
  ] as const)('from %s leads to %j only', (from, possible) => {
    for (const to of states) {
      const step = () => assertTransition(from, to)
      if ((possible as readonly MpsState[]).includes(to)) expect(step).not.toThrow()
      else expect(step).toThrow(new RegExp(`MPS is ${from} and cannot become ${to}`))
    }
  })
})
