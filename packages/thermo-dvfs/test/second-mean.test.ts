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

  it('goes on from its state', () => {
    const mean = of([0, 100], [250, 120], [500, 140])
    const copy = new SecondMean(structuredClone(mean.state))
    copy.add(750, 160)
    expect(copy.powerW).toBe(130)
  })
})
