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
  /** Null where no colocation of so many members was learnt from: nobody knows then how far off the prediction may be. */
  readonly throughputIntervals: readonly Interval[] | null
  /** Sum over the members, samples/s. */
  readonly throughputSum: number
  /** Null as above. */
  readonly throughputSumInterval: Interval | null
  /** Sum of the kept shares: above 1, sharing gets more done than taking turns. */
  readonly weightedSpeedup: number
}
