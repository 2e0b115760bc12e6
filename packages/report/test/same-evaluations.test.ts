import { SeededRandom } from '@pctodl/numerics'
import { expect, it } from 'vitest'
import { evaluate, type RunRecording } from '../src/evaluate/index.js'
import type { Actuation } from '../src/record/run-recorder.js'

/** Numbers to seven digits: what differs beyond them is rounding. */
const rounded = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (_, each) =>
      typeof each === 'number' && Number.isFinite(each) ? Number(each.toPrecision(7)) : each,
    ),
  )

/** Whole watts, so that many lie on a bound, in lumps of batches, with gaps in every reading, and caps that step up and down. */
function rough(seed: number, periodMs: number, seconds: number, truth: boolean, scatter: number): RunRecording {
  const random = new SeededRandom(seed)
  const caps = [100, 100, 160, 160, 120, 200, 200, 100]
  const actuations: Actuation[] = [{ timeMs: 0, kind: 'sm-clock' }]
  const times: number[] = []
  const powerCapW: number[] = []
  const sensorW: (number | null)[] = []
  const trueW: number[] = []
  const completed: number[] = []
  let [samples, loadingUntilMs] = [0, 0]
  for (let timeMs = periodMs; timeMs <= 1000 * seconds; timeMs += periodMs) {
    const capW = caps[Math.floor(((timeMs - 1) / (1000 * seconds)) * caps.length)]!
    const loading = timeMs <= loadingUntilMs
    const cycleW = timeMs % 8000 < 4000 ? 2 : -3
    const powerW = loading ? 60 : Math.round(0.985 * capW + scatter * (cycleW + 1.5 * random.normal()))
    if (timeMs % 400 === 0) samples += loading ? 3 : 20 + random.integer(4)
    times.push(timeMs)
    powerCapW.push(capW)
    sensorW.push(timeMs % 9000 < 1200 && timeMs > 50_000 ? null : powerW)
    trueW.push(powerW + 1)
    completed.push(samples)
    // Keeps the stream of random numbers, and so the stored figures, as they were.
    if (timeMs >= 2000) random.uniform()
    if (timeMs % 7000 === 0) actuations.push({ timeMs, kind: timeMs % 14_000 === 0 ? 'sm-clock' : 'power-limit' })
    if (timeMs === 5000 || timeMs === 64_000 || timeMs === 110_000) {
      actuations.push({ timeMs, kind: 'repartition' }, { timeMs: timeMs + 1, kind: 'mem-clock' })
      loadingUntilMs = timeMs === 64_000 ? timeMs : timeMs + 4000
    }
  }
  return {
    durationMs: 1000 * seconds,
    power: { timeMs: times, powerCapW, sensorW, ...(truth ? { trueW } : {}) },
    completed,
    actuations,
  }
}

it.each([
  [1, 100, 160, false, 1],
  [2, 200, 320, true, 0.4],
  [3, 1000, 320, false, 0.2],
  [4, 500, 20, true, 1],
] as const)(
  'a rough run (%d, each %d ms, for %d s, truth: %s, scatter %d) is judged as before',
  (seed, periodMs, seconds, truth, scatter) => {
    const { steps, ...rest } = evaluate(rough(seed, periodMs, seconds, truth, scatter))
    // A row each, for there are many.
    const rows = steps.map((row) => JSON.stringify(rounded(row)))
    expect({ ...(rounded(rest) as object), rows }).toMatchSnapshot()
  },
)
