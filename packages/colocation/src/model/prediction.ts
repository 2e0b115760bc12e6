import type { Members } from '../colocation.js'
import type { Novelty } from './novelty.js'

/** An interval that contains a value with the requested probability. */
export interface Interval {
  readonly low: number
  readonly high: number
}

/** Prediction for a colocation. */
export interface ColocationPrediction {
  readonly members: Members
  /** Share of its exclusive throughput that each member retains; 1 is undisturbed. */
  readonly keptShares: readonly number[]
  /** Throughput of each member, samples/s. */
  readonly throughputs: readonly number[]
  /** Novelty of the group. Interval widths are calibrated on groups of the same novelty. */
  readonly novelty: Novelty
  /** Null if no colocation of this size, or too few of this novelty, were in the training set. */
  readonly throughputIntervals: readonly Interval[] | null
  readonly throughputSum: number
  /** Null as above. */
  readonly throughputSumInterval: Interval | null
  /** Power of the board, W; null if too few groups, or not all members, have a measured power. */
  readonly powerW: number | null
  /** Sum of the kept shares. Above 1, the group completes more work together than by taking turns. */
  readonly weightedSpeedup: number
  /** Null as above. */
  readonly weightedSpeedupInterval: Interval | null
}

/** Interval around a value, from its half-width in the logarithm. */
export function around(value: number, logWidth: number): Interval {
  return { low: value * Math.exp(-logWidth), high: value * Math.exp(logWidth) }
}

/** Half-width of a 90 % interval, in standard deviations of a normal distribution. */
export const HALF_INTERVAL = 1.645

/** Standard deviation of a value's logarithm, from its 90 % interval; 0 if there is none. */
export function logSpread(interval: Interval | null): number {
  return interval === null ? 0 : Math.log(interval.high / interval.low) / 2 / HALF_INTERVAL
}

/** Mean of a log-normal value from its median and the standard deviation of its logarithm. */
export function expectedValue(median: number, spread: number): number {
  return median * Math.exp(spread ** 2 / 2)
}
