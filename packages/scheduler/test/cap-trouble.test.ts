import type { ClockAction } from '@pctodl/thermo-dvfs'
import { describe, expect, it } from 'vitest'
import { CapTrouble } from '../src/pctodl/cap-trouble.js'

const settled: ClockAction = {
  smClockMhz: 1005,
  status: 'settled',
  biasW: 0,
  estimatedPowerW: 140,
  targetPowerW: 148,
  clockMismatch: false,
  seen: { load: 'full', clock: 'asked', sensor: 'good', latenessMs: 0, correction: 1 },
}
const infeasible: ClockAction = { ...settled, status: 'infeasible' }
const throttled: ClockAction = { ...settled, seen: { ...settled.seen, clock: 'throttled' } }

/** The times, ms, at which something was told in a step each half second. */
function toldAt(seconds: number, actionAt: (timeMs: number) => ClockAction, reconfiguringAt = (_: number) => false) {
  const trouble = new CapTrouble(2000)
  const told: [number, string][] = []
  for (let timeMs = 0; timeMs <= 1000 * seconds; timeMs += 500) {
    const kind = trouble.step(timeMs, actionAt(timeMs), reconfiguringAt(timeMs))
    if (kind !== undefined) told.push([timeMs, kind])
  }
  return told
}

describe('what the clock cannot mend', () => {
  it('is told when it has lasted, each kind as long as it takes', () => {
    expect(toldAt(5, () => infeasible)).toEqual([[2000, 'infeasible']])
    expect(toldAt(9, () => throttled)).toEqual([[5000, 'throttled']])
    expect(toldAt(30, () => settled)).toEqual([])
  })

  it('is told again where what was done about it has had its time to show', () => {
    expect(toldAt(23, () => infeasible)).toEqual([
      [2000, 'infeasible'],
      [12_000, 'infeasible'],
      [22_000, 'infeasible'],
    ])
  })

  it('is told again as soon as it has lasted with other tenants', () => {
    const reconfiguring = (timeMs: number) => timeMs > 2000 && timeMs <= 5000
    expect(toldAt(8, () => infeasible, reconfiguring)).toEqual([
      [2000, 'infeasible'],
      [7000, 'infeasible'],
    ])
  })

  it('has to last without a break, of one kind, and with the same tenants', () => {
    expect(toldAt(9, (timeMs) => (timeMs % 2000 === 1500 ? settled : infeasible))).toEqual([])
    expect(toldAt(8, (timeMs) => (timeMs < 1500 ? infeasible : throttled))).toEqual([[6500, 'throttled']])
    expect(
      toldAt(
        9,
        () => infeasible,
        (timeMs) => timeMs <= 5000,
      ),
    ).toEqual([[7000, 'infeasible']])
  })
})
