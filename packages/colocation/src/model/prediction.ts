import type { Members } from '../colocation.js'
import type { Novelty } from './novelty.js'

/** A value with the interval in which it lies at the level that was asked for. */
export interface Interval {
  readonly low: number
  readonly high: number
}

/** What a colocation is expected to do. */
export interface ColocationPrediction {
  readonly members: Members
  /** Part of its throughput alone that each member keeps; 1 is undisturbed. */
  readonly keptShares: readonly number[]
  /** Of each member, samples/s. */
  readonly throughputs: readonly number[]
  /** What is new about the group; the intervals are as wide as predictions of groups that were as new turned out to need. */
  readonly novelty: Novelty
  /**
   * Null where no colocation of so many members was learnt from, or too few to know how far off a prediction of such novelty
   * may be.
   */
  readonly throughputIntervals: readonly Interval[] | null
  /** Sum over the members, samples/s. */
  readonly throughputSum: number
  /** Null as above. */
  readonly throughputSumInterval: Interval | null
  /** What the board draws, W; null where too few groups or not all members have a measured power. */
  readonly powerW: number | null
  /** Sum of the kept shares: above 1, sharing gets more done than taking turns. */
  readonly weightedSpeedup: number
  /** Null as above. */
  readonly weightedSpeedupInterval: Interval | null
}

/** Half an interval of 90 %, in standard deviations of a normal distribution. */
export const HALF_INTERVAL = 1.645

/** Standard deviation of the logarithm of what lies in an interval at 90 %; 0 where nothing is known. */
export function logSpread(interval: Interval | null): number {
  return interval === null ? 0 : Math.log(interval.high / interval.low) / 2 / HALF_INTERVAL
}

/** Mean of a log-normal value, of which the median is predicted: regret is linear in it. */
export function expectedValue(median: number, spread: number): number {
  return median * Math.exp(spread ** 2 / 2)
}
