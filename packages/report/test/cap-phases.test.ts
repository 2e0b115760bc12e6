import { describe, expect, it } from 'vitest'
import { capPhases } from '../src/evaluate/index.js'
import { summarizeRun } from '../src/verdict/run-summary.js'
import { fixedSetting, manners, syntheticRun } from './synthetic-runs.js'

/** A run of samples each 100 ms under 100 W, at 99 W but for some stretches at 110 W. */
function run(seconds: number, above: readonly (readonly [fromS: number, toS: number])[]) {
  const timeMs = Array.from({ length: 10 * seconds }, (_, i) => 100 * (i + 1))
  const watts = timeMs.map((at) => (above.some(([from, to]) => at > 1000 * from && at <= 1000 * to) ? 110 : 99))
  return { timeMs, powerCapW: timeMs.map(() => 100), sensorW: watts }
}

function judged(seconds: number, above: readonly (readonly [number, number])[], restartsMs: readonly number[] = []) {
  const power = run(seconds, above)
  const record = syntheticRun({ ...fixedSetting, durationMs: 5000 }, manners[0]!)
  const { verdict, startUp } = summarizeRun({ ...record, durationMs: 1000 * seconds, power, restartsMs })
  return [verdict.status, startUp?.status]
}

describe('start-up and steady state', () => {
  it('are judged apart, so that the length of a run decides neither', () => {
    // A pulse of 0.3 s lifts the 1 s average for 0.94 s: 3.8 % of 25 s and 0.4 % of 240.
    for (const seconds of [25, 120, 240]) {
      expect(judged(seconds, [[3, 3.3]]), `${seconds} s`).toEqual(['holds', 'holds'])
      expect(judged(seconds, [[3, 5]]), `${seconds} s`).toEqual(['holds', 'violates'])
    }
  })

  it('count what is above the cap later as steady state, unless tenants were restarted', () => {
    expect(judged(60, [[30, 33]])).toEqual(['violates', 'holds'])
    expect(judged(60, [[30, 30.3]], [29_500])).toEqual(['holds', 'holds'])
    expect(judged(60, [[30, 33]], [29_500])).toEqual(['holds', 'violates'])
    expect(judged(60, [[41, 44]], [29_500])).toEqual(['violates', 'holds'])
  })

  it('are one where a run restarts its tenants again and again', () => {
    const restartsMs = [10_000, 20_000, 30_000, 40_000]
    expect(capPhases(run(60, []), 'sensor', restartsMs).startUp).toBeNull()
    expect(judged(60, [[15, 18]], restartsMs)).toEqual(['violates', undefined])
  })
})
