import { InvalidInputError } from '@pctodl/platform'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type PowerMetrics, powerMetrics } from '../src/evaluate/index.js'
import type { PowerSeries } from '../src/evaluate/power-signal.js'
import { metricsOf, type Step, settlingOf } from './power-steps.js'

describe('powerMetrics of series whose measures are known', () => {
  it('weights each sample by its interval', () => {
    const metrics = metricsOf({ ms: 3000, watts: 100, capW: 200 }, { ms: 1000, watts: 180, capW: 200 })
    expect(metrics.meanPowerW).toBeCloseTo(120, 10)
    expect(metrics.energyJ).toBeCloseTo(480, 10)
    expect(metrics.capUtilisationPercent).toBeCloseTo(60, 10)
    expect(metrics.coveragePercent).toBe(100)
    expect(metrics.durationMs).toBe(4000)
  })

  it('finds as much of a pulse as the moving averages let through', () => {
    // 100 W, a pulse of 400 ms at 300 W, 100 W; cap 150 W, so the level is 151.5 W.
    const metrics = metricsOf(
      { ms: 15_000, watts: 100, capW: 150 },
      { ms: 400, watts: 300, capW: 150 },
      { ms: 4600, watts: 100, capW: 150 },
    )
    expect(metrics.peakPowerW).toBeCloseTo(180, 9)
    // The 1 s average rises by 0.2 W/ms, passes 151.5 W after 257.5 ms, and falls back below it 257.5 ms before the pulse has
    // left the window at 1400 ms: 885 ms, of the 19.5 s for which half of the window is known.
    expect(metrics.longestExcessMs).toBeCloseTo(885, 4)
    expect(metrics.violationFraction.oneSecond).toBeCloseTo(885 / 19_500, 9)
    expect(metrics.violationFraction.tenSeconds).toBe(0)
    expect(metrics.excessEnergyJ).toBeCloseTo(60, 9)
  })

  it('does not call a power at exactly the tolerated level an excess', () => {
    const metrics = metricsOf(...Array.from({ length: 97 }, () => ({ ms: 103, watts: 150 * 1.01, capW: 150 })))
    expect(metrics.violationFraction).toEqual({ oneSecond: 0, tenSeconds: 0 })
    expect(metrics.excessEnergyJ).toBeGreaterThan(0)
  })

  it('leaves unknown stretches out and says how much it saw', () => {
    const metrics = metricsOf(
      { ms: 2000, watts: 200, capW: 150 },
      { ms: 3000, watts: null, capW: 150 },
      { ms: 5000, watts: 100, capW: 150 },
    )
    expect(metrics.coveragePercent).toBeCloseTo(70, 10)
    expect(metrics.meanPowerW).toBeCloseTo(900 / 7, 9)
    // Counted from 0.5 s to 2.5 s (then less than half of the window is known) and from 5.5 s on: 6.5 s, 2 s of them in excess.
    expect(metrics.violationFraction.oneSecond).toBeCloseTo(2 / 6.5, 8)
    expect(metrics.longestExcessMs).toBeCloseTo(2000, 3)
  })

  it('has nulls, and no zeros, where no power is known', () => {
    const metrics = metricsOf({ ms: 60_000, watts: null, capW: 150 })
    expect(metrics).toMatchObject({ meanPowerW: null, peakPowerW: null, coveragePercent: 0 })
    expect(metrics.violationFraction).toEqual({ oneSecond: null, tenSeconds: null })
    expect(metrics.capUtilisationPercent).toBeNull()
  })

  it('gives a sample at time 0 no weight', () => {
    const metrics = powerMetrics({ timeMs: [0, 2000], powerCapW: [100, 100], sensorW: [900, 50] }, 'sensor')
    expect(metrics.meanPowerW).toBe(50)
  })

  it('judges the series it is told to', () => {
    const both: PowerSeries = { timeMs: [2000], powerCapW: [100], sensorW: [90], trueW: [120] }
    expect(powerMetrics(both, 'true')).toMatchObject({ source: 'true', meanPowerW: 120 })
    expect(powerMetrics(both, 'sensor')).toMatchObject({ source: 'sensor', meanPowerW: 90 })
  })
})

describe('settling time', () => {
  const tenth = (watts: number, capW: number, ms: number): Step[] =>
    Array.from({ length: ms / 100 }, () => ({ ms: 100, watts, capW }))

  it('is the time until the 1 s average has entered the band for good', () => {
    // The cap falls from 200 W to 100 W, the power 2 s later from 190 W to 98 W. The average falls by 92 W in 1 s and passes
    // 101 W after 89/92 s.
    const settling = settlingOf(...tenth(190, 200, 40_000), ...tenth(190, 100, 2000), ...tenth(98, 100, 40_000))
    expect(settling).toHaveLength(1)
    expect(settling[0]).toMatchObject({ atMs: 40_000, fromW: 200, toW: 100 })
    expect(settling[0]!.settlingMs).toBeCloseTo(2000 + (1000 * 89) / 92, 3)
  })

  it('starts anew when the power leaves the band before the holding time is over', () => {
    const settling = settlingOf(
      ...tenth(190, 200, 5000),
      ...tenth(98, 100, 20_000),
      ...tenth(150, 100, 1000),
      ...tenth(98, 100, 40_000),
    )
    // After the relapse the average falls from 150 W to 98 W in 1 s and passes 101 W after 49/52 s.
    expect(settling[0]!.settlingMs).toBeCloseTo(21_000 + (1000 * 49) / 52, 3)
  })

  it('is null for a stretch shorter than the holding time and for power that stays under the band', () => {
    const settling = settlingOf(...tenth(98, 100, 5000), ...tenth(148, 150, 20_000), ...tenth(120, 200, 60_000))
    expect(settling.map(({ toW, settlingMs }) => [toW, settlingMs])).toEqual([
      [150, null],
      [200, null],
    ])
  })
})

describe('bad input', () => {
  it.each<[string, PowerSeries, string]>([
    ['no samples', { timeMs: [], powerCapW: [], sensorW: [] }, 'power.timeMs'],
    ['lengths that differ', { timeMs: [1, 2], powerCapW: [1, 2], sensorW: [1] }, 'power.sensorW.length'],
    ['time that runs backwards', { timeMs: [2, 1], powerCapW: [1, 1], sensorW: [1, 1] }, 'power.timeMs[1]'],
    ['a cap of zero', { timeMs: [1], powerCapW: [0], sensorW: [1] }, 'power.powerCapW[0]'],
    ['power that is no number', { timeMs: [1], powerCapW: [1], sensorW: [Number.NaN] }, 'power.sensorW[0]'],
  ])('%s is refused by name', (_, power, field) => {
    expect(() => powerMetrics(power, 'sensor')).toThrow(expect.objectContaining({ field }) as Error)
  })

  it('asks for the sensor where the true power is not known', () => {
    expect(() => powerMetrics({ timeMs: [1], powerCapW: [1], sensorW: [1] }, 'true')).toThrow(InvalidInputError)
  })
})

const anySteps = fc.array(
  fc.record({
    ms: fc.integer({ min: 1, max: 3000 }),
    watts: fc.option(fc.integer({ min: 20, max: 400 }), { freq: 8 }),
    capW: fc.constantFrom(100, 150, 250),
  }),
  { minLength: 1, maxLength: 60 },
)

function expectSame(found: PowerMetrics, wanted: PowerMetrics, wattScale = 1): void {
  const close = (a: number | null, b: number | null, digits: number) =>
    a === null || b === null ? expect(a).toBe(b) : expect(a).toBeCloseTo(b, digits)
  close(found.meanPowerW, wanted.meanPowerW === null ? null : wanted.meanPowerW * wattScale, 7)
  close(found.peakPowerW, wanted.peakPowerW === null ? null : wanted.peakPowerW * wattScale, 6)
  close(found.energyJ, wanted.energyJ * wattScale, 6)
  close(found.excessEnergyJ, wanted.excessEnergyJ * wattScale, 6)
  close(found.longestExcessMs, wanted.longestExcessMs, 3)
  close(found.violationFraction.oneSecond, wanted.violationFraction.oneSecond, 7)
  close(found.violationFraction.tenSeconds, wanted.violationFraction.tenSeconds, 7)
  close(found.coveragePercent, wanted.coveragePercent, 9)
  close(found.capUtilisationPercent, wanted.capUtilisationPercent, 7)
}

describe('laws', () => {
  it('splitting an interval changes nothing', () => {
    fc.assert(
      fc.property(anySteps, fc.infiniteStream(fc.double({ min: 0.01, max: 0.99, noNaN: true })), (steps, cuts) => {
        const split = steps.flatMap((step) => {
          const share = cuts.next().value as number
          return [
            { ...step, ms: step.ms * share },
            { ...step, ms: step.ms * (1 - share) },
          ]
        })
        const whole = metricsOf(...steps)
        const parts = metricsOf(...split)
        expectSame(parts, whole)
        expect(settlingOf(...split).length).toBe(settlingOf(...steps).length)
      }),
    )
  })

  it('fractions stay within 0..1 and agree with the longest excess', () => {
    fc.assert(
      fc.property(anySteps, (steps) => {
        const { violationFraction, longestExcessMs, durationMs, peakPowerW } = metricsOf(...steps)
        for (const fraction of Object.values(violationFraction)) {
          if (fraction === null) continue
          expect(fraction).toBeGreaterThanOrEqual(0)
          expect(fraction).toBeLessThanOrEqual(1)
        }
        expect(longestExcessMs).toBeLessThanOrEqual((violationFraction.oneSecond ?? 0) * durationMs + 1e-3)
        const highestW = Math.max(...steps.map(({ watts }) => watts ?? 0))
        expect(peakPowerW ?? 0).toBeLessThanOrEqual(highestW * (1 + 1e-9))
      }),
    )
  })

  it('scaling power and cap alike scales watts and joules and leaves the rest', () => {
    fc.assert(
      fc.property(anySteps, fc.constantFrom(0.25, 2, 8), (steps, k) => {
        const scaled = steps.map((s) => ({ ...s, watts: s.watts === null ? null : s.watts * k, capW: s.capW * k }))
        expectSame(metricsOf(...scaled), metricsOf(...steps), k)
      }),
    )
  })

  it('a higher cap is never violated more', () => {
    fc.assert(
      fc.property(anySteps, (steps) => {
        const before = metricsOf(...steps)
        const after = metricsOf(...steps.map((step) => ({ ...step, capW: step.capW * 1.1 })))
        const atMost = (a: number | null, b: number | null) => expect(a ?? 0).toBeLessThanOrEqual((b ?? 0) + 1e-9)
        atMost(after.violationFraction.oneSecond, before.violationFraction.oneSecond)
        atMost(after.violationFraction.tenSeconds, before.violationFraction.tenSeconds)
        atMost(after.excessEnergyJ, before.excessEnergyJ)
      }),
    )
  })

  it('the 1 s fraction agrees with a count over a grid of 1 ms', () => {
    fc.assert(
      fc.property(anySteps, (steps) => {
        const watts = steps.flatMap((step) => new Array<number | null>(step.ms).fill(step.watts))
        const caps = steps.flatMap((step) => new Array<number>(step.ms).fill(step.capW))
        let sumW = 0
        let known = 0
        let counted = 0
        let excess = 0
        for (let t = 0; t < watts.length; t++) {
          sumW += watts[t] ?? 0
          known += watts[t] === null ? 0 : 1
          if (t >= 1000) {
            sumW -= watts[t - 1000] ?? 0
            known -= watts[t - 1000] === null ? 0 : 1
          }
          if (known < 500) continue
          counted++
          if (sumW / known > caps[t]! * 1.01) excess++
        }
        const fraction = metricsOf(...steps).violationFraction.oneSecond ?? 0
        // Each crossing is off by at most one grid point; there are at most two in each of the 2n pieces.
        expect(Math.abs(fraction - (counted > 0 ? excess / counted : 0)) * Math.max(counted, 1)).toBeLessThanOrEqual(
          4 * steps.length + 4,
        )
      }),
      { numRuns: 30 },
    )
  })
})
