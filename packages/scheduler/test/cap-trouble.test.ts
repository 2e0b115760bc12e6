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
  seen: { load: 'full', clock: 'asked', sensor: 'good', latenessMs: 0, correction: 1, excess: false },
}
const infeasible: ClockAction = { ...settled, status: 'infeasible' }
const readAbove: ClockAction = { ...infeasible, seen: { ...settled.seen, excess: true } }
const throttled: ClockAction = { ...settled, seen: { ...settled.seen, clock: 'throttled' } }

interface Told {
  readonly reconfiguringAt?: (timeMs: number) => boolean
  readonly memoryIsLowestAt?: (timeMs: number) => boolean
}

/** The times, ms, at which something was told in a step each tenth of a second. */
function toldAt(seconds: number, actionAt: (timeMs: number) => ClockAction, more: Told = {}) {
  const { reconfiguringAt = () => false, memoryIsLowestAt = () => true } = more
  const trouble = new CapTrouble()
  const told: [number, string][] = []
  for (let timeMs = 0; timeMs <= 1000 * seconds; timeMs += 100) {
    const kind = trouble.step(timeMs, actionAt(timeMs), reconfiguringAt(timeMs), memoryIsLowestAt(timeMs))
    if (kind !== undefined) told.push([timeMs, kind])
  }
  return told
}

describe('what the clock cannot mend', () => {
  it('is told when it has lasted, each kind as long as it takes, and sooner where readings say it than where an estimate does', () => {
    expect(toldAt(5, () => readAbove)).toEqual([[300, 'infeasible']])
    expect(toldAt(5, () => infeasible)).toEqual([[3000, 'infeasible']])
    expect(toldAt(9, () => throttled)).toEqual([[5000, 'throttled']])
    expect(toldAt(30, () => settled)).toEqual([])
  })

  it('is told at once where readings come to say what was estimated for a while', () => {
    expect(toldAt(5, (timeMs) => (timeMs < 2000 ? infeasible : readAbove))).toEqual([[2000, 'infeasible']])
  })

  it('is none of the tenants while the memory clock can go down, but for firmware that throttles', () => {
    expect(toldAt(9, () => readAbove, { memoryIsLowestAt: () => false })).toEqual([])
    expect(toldAt(9, () => readAbove, { memoryIsLowestAt: (timeMs) => timeMs >= 2000 })).toEqual([[2300, 'infeasible']])
    expect(toldAt(9, () => throttled, { memoryIsLowestAt: () => false })).toEqual([[5000, 'throttled']])
  })

  it('is told again where what was done about it has had its time to show', () => {
    expect(toldAt(24, () => infeasible)).toEqual([
      [3000, 'infeasible'],
      [13_000, 'infeasible'],
      [23_000, 'infeasible'],
    ])
  })

  it('is told again as soon as it has lasted with other tenants', () => {
    const reconfiguringAt = (timeMs: number) => timeMs > 3000 && timeMs <= 6000
    expect(toldAt(9.5, () => infeasible, { reconfiguringAt })).toEqual([
      [3000, 'infeasible'],
      [9000, 'infeasible'],
    ])
  })

  it('has to last without a break, of one kind, and with the same tenants', () => {
    expect(toldAt(9, (timeMs) => (timeMs % 2000 === 1500 ? settled : infeasible))).toEqual([])
    expect(toldAt(8, (timeMs) => (timeMs < 1500 ? infeasible : throttled))).toEqual([[6500, 'throttled']])
    expect(toldAt(9, () => infeasible, { reconfiguringAt: (timeMs) => timeMs <= 5000 })).toEqual([[8000, 'infeasible']])
  })
})
