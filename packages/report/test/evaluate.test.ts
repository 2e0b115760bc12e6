import { describe, expect, it } from 'vitest'
import { evaluate, powerMetrics, type RunRecording } from '../src/evaluate/index.js'
import { steadyMask } from '../src/evaluate/steady-mask.js'
import type { Actuation } from '../src/record/run-recorder.js'

interface Story {
  readonly seconds: number
  readonly capAt?: (s: number) => number
  readonly powerAt?: (s: number) => number | null
  readonly rateAt?: (s: number) => number
  readonly actuations?: readonly Actuation[]
}

/** A recording sampled ten times a second; a sample stands for the interval that ends with it. */
function record({
  seconds,
  capAt = () => 100,
  powerAt = () => 98,
  rateAt = () => 50,
  actuations = [],
}: Story): RunRecording {
  const times = Array.from({ length: seconds * 10 }, (_, i) => (i + 1) / 10)
  let completed = 0
  return {
    durationMs: seconds * 1000,
    power: {
      timeMs: times.map((s) => s * 1000),
      powerCapW: times.map((s) => capAt(s - 0.05)),
      sensorW: times.map((s) => powerAt(s - 0.05)),
    },
    completed: times.map((s) => {
      completed += rateAt(s - 0.05) / 10
      return completed
    }),
    actuations,
  }
}

describe('evaluate', () => {
  it('has nothing to say against a run at 98 % of its cap', () => {
    const { steady, whole } = evaluate(record({ seconds: 120 }))
    expect(steady.durationMs).toBeCloseTo(90_000, -3)
    expect(steady).toMatchObject({ violationTenSecondsPercent: 0, longestExcessMs: 0, excessEnergyJ: 0 })
    expect(steady.violationPercent!).toBe(0)
    expect(steady.capUtilisationPercent!).toBeCloseTo(98, 9)
    expect(steady.peakExcessPercent).toBeCloseTo(-2, 9)
    expect(whole.throughput!).toBeCloseTo(50, 9)
    expect(whole.compliantThroughput!).toBeCloseTo(50, 9)
    expect(whole.energyPerSampleJ).toBeCloseTo(98 / 50, 9)
    expect(steady.ripple!.peakToPeakW).toBeCloseTo(0, 9)
  })

  it('has of violations the figure that the metrics have, with gaps in what was read', () => {
    const powerAt = (s: number) => (s >= 40 && s < 47 ? null : s >= 20 && s < 33 ? 104 : 95)
    const run = record({ seconds: 90, powerAt })
    const { oneSecond } = powerMetrics(run.power, 'sensor').violationFraction
    expect(oneSecond).toBeGreaterThan(0)
    expect(evaluate(run).whole.violationPercent!).toBe(100 * oneSecond!)
  })

  it('measures the ripple around the mean under each cap, and none where no power is known', () => {
    const capAt = (s: number) => (s < 30 ? 100 : 200)
    const powerAt = (s: number) => 0.95 * capAt(s) + Math.sin(s)
    const { peakToPeakW, standardDeviationW } = evaluate(record({ seconds: 60, capAt, powerAt })).whole.ripple!
    expect(evaluate(record({ seconds: 60, powerAt: () => null })).whole.ripple).toBeNull()
    // The second after the step mixes both levels.
    expect(peakToPeakW).toBeGreaterThan(80)
    expect(standardDeviationW).toBeLessThan(12)
    expect(evaluate(record({ seconds: 60, powerAt: (s) => 95 + Math.sin(s) })).whole.ripple!.peakToPeakW).toBeCloseTo(
      2,
      0,
    )
  })

  it('counts time and energy above the cap, and the samples of such seconds as not compliant', () => {
    // Ten of a hundred steady seconds at 110 %.
    const powerAt = (s: number) => (s >= 60 && s < 70 ? 110 : 95)
    const { steady } = evaluate(record({ seconds: 130, powerAt }))
    // The one-second average is above 101 W from 0.4 s after the rise to 0.6 s after the fall.
    expect(steady.violationPercent!).toBeCloseTo(10.2, 0)
    expect(steady.longestExcessMs).toBeCloseTo(10_200, -2)
    expect(steady.excessEnergyJ).toBeCloseTo(100, 6)
    expect(steady.excessEnergyPercent!).toBeCloseTo(1, 1)
    expect(steady.peakExcessPercent).toBeCloseTo(10, 6)
    expect(steady.compliantThroughput!).toBeCloseTo(0.9 * 50, 0)
  })

  it('keeps the aftermath of a cap change out of the steady state, averages included', () => {
    const capAt = (s: number) => (s < 60 ? 150 : 100)
    const powerAt = (s: number) => (s < 62 ? 145 : 98)
    const { steady, whole, steps } = evaluate(record({ seconds: 150, capAt, powerAt }))
    expect(steady.violationPercent!).toBe(0)
    expect(steady.violationTenSecondsPercent).toBe(0)
    expect(steady.peakExcessPercent).toBeLessThan(0)
    expect(whole.violationPercent!).toBeGreaterThan(1)
    const [step] = steps
    expect(step).toMatchObject({ fromW: 150, toW: 100 })
    expect(step!.settlingMs).toBeCloseTo(2940, -2)
  })

  it('counts actuations of the steady state, by kind', () => {
    const actuations: Actuation[] = [
      { timeMs: 0, kind: 'sm-clock' },
      { timeMs: 5000, kind: 'sm-clock' },
      { timeMs: 45_000, kind: 'sm-clock' },
      { timeMs: 50_000, kind: 'repartition' },
    ]
    const { steady, whole } = evaluate(record({ seconds: 150, actuations }))
    expect(steady.actuationsPerMinute['sm-clock']).toBeCloseTo(0.5, 1)
    expect(whole.actuationsPerMinute['sm-clock']).toBeCloseTo(0.8, 1)
  })

  it('leaves out what was not read, and measures a limit cycle', () => {
    const powerAt = (s: number) => (s % 10 < 0.5 ? null : s % 10 < 5 ? 99 : 96)
    const { whole, steady } = evaluate(record({ seconds: 180, powerAt }))
    expect(whole.capUtilisationPercent!).toBeCloseTo((99 * 4.5 + 96 * 5) / 9.5, 1)
    expect(steady.ripple!.peakToPeakW).toBeCloseTo(3, 6)
  })

  it('measures a run that lasts for days', () => {
    const timeMs = Array.from({ length: 300_000 }, (_, i) => 1000 * (i + 1))
    const power = { timeMs, powerCapW: timeMs.map(() => 100), sensorW: timeMs.map((_, i) => 98 - (i % 2)) }
    const { whole } = evaluate({ durationMs: timeMs.at(-1)!, power, completed: timeMs, actuations: [] })
    expect(whole.ripple).toEqual({ standardDeviationW: 0.5, peakToPeakW: 1 })
  })

  it('refuses a series that is none', () => {
    const run = record({ seconds: 10 })
    expect(() => evaluate({ ...run, power: { ...run.power, powerCapW: [] } })).toThrow('powerCapW')
    expect(() => evaluate(run, { source: 'true' })).toThrow()
  })
})

describe('steadyMask', () => {
  it('starts after the start and again after each change', () => {
    const { power } = record({ seconds: 100, capAt: (s) => (s < 60 ? 100 : 90) })
    const mask = steadyMask(power)
    const at = (s: number) => mask[Math.round(s * 10) - 1]
    expect([at(29), at(31), at(59), at(74), at(76)]).toEqual([0, 1, 1, 0, 1])
  })
})
