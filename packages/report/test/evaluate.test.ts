import { describe, expect, it } from 'vitest'
import { evaluate, powerMetrics, type RunRecording } from '../src/evaluate/index.js'
import { ripple } from '../src/evaluate/ripple.js'
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
    energyCounterJ: times.map((s) => 98 * s),
    actuations,
  }
}

describe('evaluate', () => {
  it('has nothing to say against a run at 98 % of its cap', () => {
    const { steady, whole, energyCounterRatio } = evaluate(record({ seconds: 120 }), { oracleThroughput: () => 50 })
    expect(steady.durationMs).toBeCloseTo(90_000, -3)
    expect(steady).toMatchObject({ violationTenSecondsPercent: 0, longestExcessMs: 0, excessEnergyJ: 0 })
    expect(steady.violationPercent!.value).toBe(0)
    expect(steady.capUtilisationPercent!.value).toBeCloseTo(98, 9)
    expect(steady.peakExcessPercent).toBeCloseTo(-2, 9)
    expect(whole.throughput!.value).toBeCloseTo(50, 9)
    expect(whole.compliantThroughput!.value).toBeCloseTo(50, 9)
    expect(whole.oracleRatio).toBeCloseTo(1, 9)
    expect(whole.energyPerSampleJ).toBeCloseTo(98 / 50, 9)
    expect(steady.ripple!.peakToPeakW).toBeCloseTo(0, 9)
    expect(energyCounterRatio).toBeCloseTo(1, 2)
  })

  it('has of violations the figure that the metrics have, with gaps in what was read', () => {
    const powerAt = (s: number) => (s >= 40 && s < 47 ? null : s >= 20 && s < 33 ? 104 : 95)
    const run = record({ seconds: 90, powerAt })
    const { oneSecond } = powerMetrics(run.power, 'sensor').violationFraction
    expect(oneSecond).toBeGreaterThan(0)
    expect(evaluate(run).whole.violationPercent!.value).toBe(100 * oneSecond!)
  })

  it('knows no ripple where no cap stays for two readings', () => {
    const capAt = (s: number) => (Math.floor(10 * s) % 2 === 0 ? 100 : 101)
    const powerAt = (s: number) => 95 + Math.sin(s)
    expect(evaluate(record({ seconds: 60, capAt, powerAt })).whole.ripple).toBeNull()
    expect(evaluate(record({ seconds: 60, powerAt })).whole.ripple!.peakToPeakW).toBeGreaterThan(1)
  })

  it('counts time and energy above the cap, and the samples of such seconds as not compliant', () => {
    // Ten of a hundred steady seconds at 110 %.
    const powerAt = (s: number) => (s >= 60 && s < 70 ? 110 : 95)
    const { steady } = evaluate(record({ seconds: 130, powerAt }), { oracleThroughput: () => 100 })
    // The one-second average is above 101 W from 0.4 s after the rise to 0.6 s after the fall.
    expect(steady.violationPercent!.value).toBeCloseTo(10.2, 0)
    expect(steady.longestExcessMs).toBeCloseTo(10_200, -2)
    expect(steady.excessEnergyJ).toBeCloseTo(100, 6)
    expect(steady.excessEnergyPercent!.value).toBeCloseTo(1, 1)
    expect(steady.peakExcessPercent).toBeCloseTo(10, 6)
    expect(steady.compliantThroughput!.value).toBeCloseTo(0.9 * 50, 0)
    expect(steady.oracleRatio).toBeCloseTo(0.5, 9)
    const { low, high, value } = steady.violationPercent!
    expect(low).toBeLessThan(value)
    expect(high).toBeGreaterThan(value)
  })

  it('keeps the aftermath of a cap change out of the steady state, averages included', () => {
    const capAt = (s: number) => (s < 60 ? 150 : 100)
    const powerAt = (s: number) => (s < 62 ? 145 : 98)
    const { steady, whole, steps } = evaluate(record({ seconds: 150, capAt, powerAt }))
    expect(steady.violationPercent!.value).toBe(0)
    expect(steady.violationTenSecondsPercent).toBe(0)
    expect(steady.peakExcessPercent).toBeLessThan(0)
    expect(whole.violationPercent!.value).toBeGreaterThan(1)
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

  it('leaves out what was not read, and finds the period of a limit cycle', () => {
    const powerAt = (s: number) => (s % 10 < 0.5 ? null : s % 10 < 5 ? 99 : 96)
    const { whole, steady } = evaluate(record({ seconds: 180, powerAt }))
    expect(whole.capUtilisationPercent!.value).toBeCloseTo((99 * 4.5 + 96 * 5) / 9.5, 1)
    expect(steady.ripple!.periodMs).toBeCloseTo(10_000, -3)
    expect(steady.ripple!.peakToPeakW).toBeCloseTo(3, 6)
  })

  it('measures the ripple of a run that lasts for days', () => {
    const steps = 600_000
    const fill = (value: (i: number) => number) => Float64Array.from({ length: steps + 1 }, (_, i) => value(i))
    const knotsMs = fill((i) => 500 * i)
    const capW = fill(() => 100)
    const signal = {
      steps,
      knotsMs,
      capW,
      powerW: capW,
      known: new Uint8Array(),
      energyUntil: capW,
      knownUntilMs: capW,
    }
    expect(
      ripple(
        signal,
        fill((i) => 98 - (i % 2)),
      )!.peakToPeakW,
    ).toBe(1)
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
