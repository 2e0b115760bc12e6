import type { Members } from '../colocation.js'

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
  readonly throughputIntervals: readonly Interval[]
  /** Sum over the members, samples/s. */
  readonly throughputSum: number
  readonly throughputSumInterval: Interval
  /** Sum of the kept shares: above 1, sharing gets more done than taking turns. */
  readonly weightedSpeedup: number
}
