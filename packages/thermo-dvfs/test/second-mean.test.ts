import { describe, expect, it } from 'vitest'
import { SecondMean } from '../src/second-mean.js'

const of = (...readings: readonly (readonly [timeMs: number, powerW: number])[]) => {
  const mean = new SecondMean()
  for (const [timeMs, powerW] of readings) mean.add(timeMs, powerW)
  return mean
}

describe('the mean of the last second of instant readings', () => {
  it('is known from four of them on that span three quarters of it', () => {
    expect(of([0, 100], [250, 120], [500, 140], [750, 160]).powerW).toBe(130)
    expect(of([0, 100], [250, 120], [500, 140], [749, 160]).powerW).toBeNull()
    expect(of([0, 100], [400, 120], [800, 140]).powerW).toBeNull()
  })

  it('forgets what is a second old', () => {
    expect(of([0, 1000], [250, 120], [500, 140], [750, 160], [1000, 180]).powerW).toBe(150)
    expect(of([1, 1000], [250, 120], [500, 140], [750, 160], [1000, 180]).powerW).toBe(320)
  })

  it('begins anew where a second passes without any', () => {
    const mean = of([0, 1000], [250, 1000])
    mean.forgetBefore(5000)
    for (const [i, powerW] of [100, 120, 140, 160].entries()) mean.add(6000 + 250 * i, powerW)
    expect(mean.powerW).toBe(130)
  })

  it('is of the newest 32 where more come in a second', () => {
    const powersW = Array.from({ length: 40 }, (_, i) => 100 + i * i)
    const newest = powersW.slice(-32)
    const mean = of(...powersW.map((powerW, i) => [25 * i, powerW] as const))
    expect(mean.powerW).toBeCloseTo(newest.reduce((sum, powerW) => sum + powerW, 0) / 32, 9)
  })

  it('keeps nothing of what it has forgotten, however absurd that was', () => {
    const mean = of([0, 1e20], [100, 5])
    mean.forgetBefore(100)
    for (const timeMs of [200, 450, 700, 950]) mean.add(timeMs, 100)
    expect(mean.powerW).toBe(100)
  })

  it('goes on from its state', () => {
    const mean = of([0, 100], [250, 120], [500, 140])
    const copy = new SecondMean(structuredClone(mean.state))
    copy.add(750, 160)
    expect(copy.powerW).toBe(130)
  })
})
