import type { MeasureOptions } from '../plan/profile-plan.js'
import { meanOf, type Observation, powerOf, slowestBatchMs, totalRate } from './observation.js'

/** Minimum number of batches that the slowest tenant must complete in each half of the stretch that is judged. */
const BATCHES_PER_HALF = 2
/** Maximum change of temperature over the judged stretch, K. Sensors report whole degrees. */
const TEMPERATURE_DRIFT_K = 1

/**
 * Whether power, throughput and temperature are stationary over the last stretch. The stretch is `settleWindowMs` long,
 * or four batches of the slowest tenant if they take longer.
 *
 * Mean power and throughput of its two halves must differ by at most `settleTolerancePercent` of the second half.
 * Temperature in its first and last fifth must differ by at most 1 K. With the default stretch of 5 s, a board with a
 * thermal time constant of 20 s passes once it is within about 6 K of its final temperature. Leakage makes these 6 K
 * about 1 % of its power.
 *
 * @param observations since the load began, oldest first, one every `sampleMs`
 */
export function isSettled(observations: readonly Observation[], options: MeasureOptions): boolean {
  const last = observations.at(-1)
  if (last === undefined || observations.length * options.sampleMs < options.settleMinMs) return false
  const half = Math.ceil(settleStretchMs(last, options) / 2 / options.sampleMs)
  if (!(observations.length > 2 * half)) return false
  const start = observations.length - 1 - 2 * half
  const middle = observations.length - 1 - half
  const first = observations.slice(start + 1, middle + 1)
  const second = observations.slice(middle + 1)
  const tolerance = options.settleTolerancePercent / 100
  const isSteady = (a: number | null, b: number | null) =>
    a !== null && b !== null && Math.abs(b - a) <= tolerance * Math.abs(b)
  const rates = [
    totalRate(observations[start]!, observations[middle]!),
    totalRate(observations[middle]!, last),
  ] as const
  const fifth = Math.max(1, Math.floor((2 * half) / 5))
  const heating = temperatureOf(observations.slice(-fifth)) - temperatureOf(first.slice(0, fifth))
  return (
    isSteady(meanOf(first, powerOf), meanOf(second, powerOf)) &&
    (last.counters.length === 0 || isSteady(...rates)) &&
    // If the board has no temperature sensor, `heating` is NaN and only power and throughput decide.
    !(Math.abs(heating) > TEMPERATURE_DRIFT_K)
  )
}

/** Length of the stretch that `isSettled` judges, ms. */
export function settleStretchMs(last: Observation, { settleWindowMs }: MeasureOptions): number {
  return Math.max(settleWindowMs, 2 * BATCHES_PER_HALF * slowestBatchMs(last))
}

function temperatureOf(observations: readonly Observation[]): number {
  return meanOf(observations, ({ telemetry }) => telemetry.temperatureC)
}
