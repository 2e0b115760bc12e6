import { SeededRandom } from '@pctodl/numerics'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isSettled } from '../src/measure/settle.js'
import { windowErrors } from '../src/measure/standard-error.js'
import { defaultMeasure } from '../src/plan/profile-plan.js'
import { observe } from './observations.js'

const settled = (observations: Parameters<typeof isSettled>[0]) => isSettled(observations, defaultMeasure)
const settledAt = (load: Parameters<typeof observe>[1]) => {
  const all = observe(60, load)
  return all.findIndex((_, i) => settled(all.slice(0, i + 1))) / 10
}

describe('isSettled', () => {
  it('takes a steady load after the shortest time, not before', () => {
    expect(settledAt({})).toBe(5)
    expect(settled(observe(4.9, {}))).toBe(false)
  })

  it('waits for a power that still rises', () => {
    expect(settled(observe(6, { powerW: (s) => 150 + 5 * s }))).toBe(false)
    expect(settledAt({ powerW: (s) => 200 + 40 * Math.min(1, s / 8) })).toBeGreaterThan(9)
  })

  it('waits for the heat: what is left of an exponential rise is a few kelvin', () => {
    const temperature = (s: number) => 70 - 35 * Math.exp(-s / 20)
    const at = settledAt({ temperatureC: (s) => Math.round(temperature(s)) })
    expect(at).toBeGreaterThan(20)
    expect(70 - temperature(at)).toBeLessThan(8)
  })

  it('waits for a throughput that still changes', () => {
    expect(settled(observe(6, { batchMs: [(s) => 20 + 2 * s] }))).toBe(false)
  })

  it('judges slow batches over four of them', () => {
    expect(settledAt({ batchMs: [() => 3000] })).toBeGreaterThanOrEqual(12)
    expect(settledAt({ batchMs: [() => 3000, () => 10] })).toBeLessThan(20)
  })

  it('does not take a load of which nothing can be read for a steady one', () => {
    expect(settled(observe(10, { powerW: () => Number.NaN }))).toBe(false)
    const blind = observe(10, {}).map(({ telemetry, counters }) => ({
      telemetry: { ...telemetry, powerAverageW: null },
      counters,
    }))
    expect(settled(blind)).toBe(false)
  })
})

describe('windowErrors', () => {
  it('gives the standard error of independent noise', () => {
    fc.assert(
      fc.property(fc.nat(1e6), (seed) => {
        const random = new SeededRandom(seed)
        const noisy = observe(100, { powerW: () => 200 + 10 * random.normal() })
        const { powerPercent } = windowErrors(noisy[0]!, noisy.slice(1), 100)
        // 10 W / sqrt(990) of 200 W are 0.159 %; the estimate from 99 blocks has a standard error of 7 %.
        expect(powerPercent).toBeGreaterThan(0.159 * 0.65)
        expect(powerPercent).toBeLessThan(0.159 * 1.35)
      }),
      { numRuns: 30 },
    )
  })

  it('is not fooled by a sensor that averages over a second', () => {
    const random = new SeededRandom(4)
    const raw = Array.from({ length: 4000 }, () => 200 + 10 * random.normal())
    const averaged = (i: number) =>
      raw.slice(Math.max(0, i - 9), i + 1).reduce((a, b) => a + b, 0) / Math.min(10, i + 1)
    const noisy = observe(400, { powerW: (s) => averaged(Math.round(s * 10) - 1) })
    const { powerPercent } = windowErrors(noisy[0]!, noisy.slice(1), 100)
    // As if the readings were independent it would be a third of the truth, 10 W / sqrt(4000) of 200 W.
    expect(powerPercent).toBeGreaterThan(0.079 * 0.8)
  })

  it('does not take whole batches for noise, and knows what it cannot know', () => {
    const steady = observe(8, { batchMs: [() => 370] })
    expect(windowErrors(steady[9]!, steady.slice(10), 100).throughputPercent).toBeLessThan(1e-9)
    expect(windowErrors(steady[0]!, steady.slice(1, 30), 100).powerPercent).toBeNaN()
    const slow = observe(8, { batchMs: [() => 5000] })
    expect(windowErrors(slow[0]!, slow.slice(1), 100).throughputPercent).toBeNaN()
  })
})
