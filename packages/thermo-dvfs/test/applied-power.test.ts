import { describe, expect, it } from 'vitest'
import { AppliedPower } from '../src/applied-power.js'

function applied(...steps: readonly (readonly [startMs: number, powerW: number])[]): AppliedPower {
  const power = new AppliedPower()
  for (const [startMs, powerW] of steps) power.push(startMs, powerW)
  return power
}

describe('what the model says was drawn', () => {
  it('is averaged over a window by the time that each power lasted', () => {
    const power = applied([0, 100], [1000, 140], [1500, 120])
    expect(power.average(0, 1000)).toBe(100)
    expect(power.average(500, 1500)).toBe(120)
    expect(power.average(900, 1700)).toBeCloseTo((100 * 100 + 500 * 140 + 200 * 120) / 800, 9)
    expect(power.average(2000, 3000)).toBe(120)
  })

  it('is its first power for as long as anybody looks back', () => {
    const power = applied([5000, 100], [6000, 140])
    expect(power.average(1000, 2000)).toBe(100)
    expect(power.average(4000, 7000)).toBeCloseTo((2000 * 100 + 1000 * 140) / 3000, 9)
    expect(power.spread(1000, 2000)).toBe(0)
    expect(power.highest(1000, 2000)).toBe(100)
  })

  it('spreads between the lowest and the highest power of a window, what it began with included', () => {
    const power = applied([0, 100], [1000, 140], [2000, 120])
    expect(power.spread(500, 2500)).toBe(40)
    expect(power.highest(500, 2500)).toBe(140)
    expect(power.spread(1500, 2500)).toBe(20)
    // A power counts from its start on, and the one before it until then.
    expect(power.spread(1000, 2000)).toBe(0)
    expect(power.spread(999, 2000)).toBe(40)
    expect(power.spread(1000, 2001)).toBe(20)
  })

  it('does not begin again where the power stays', () => {
    expect(applied([0, 100], [500, 100], [1000, 140]).state()).toEqual(applied([0, 100], [1000, 140]).state())
  })

  it('keeps the newest of many steps, and goes on from its state', () => {
    const steps = Array.from({ length: 150 }, (_, i) => [100 * i, 100 + (i % 7)] as const)
    const power = applied(...steps)
    const lately = applied(...steps.slice(-64))
    expect(power.state()).toEqual(lately.state())
    const again = new AppliedPower()
    again.restore(power.state())
    for (const one of [power, again]) one.push(15_000, 90)
    expect(again.state()).toEqual(power.state())
    expect(again.average(14_000, 16_000)).toBe(power.average(14_000, 16_000))
    expect(power.average(15_000, 16_000)).toBe(90)
  })
})
