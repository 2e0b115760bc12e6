import { type Colocation, throughputSum } from '../colocation.js'
import { type ColocationPrediction, expectedValue, type Interval, logSpread } from '../model/prediction.js'
import { SlowdownModel } from '../model/slowdown-model.js'
import type { Split } from './splits.js'

/** What a method can do once it has seen the training rows. */
export interface Prepared {
  /** Scores of a list of candidates; higher is better. */
  scoresOf(candidates: readonly Colocation[]): readonly number[]
  /** Predicted sums of throughputs, samples/s; absent where the method only compares. */
  sumsOf?(candidates: readonly Colocation[]): readonly number[]
  /** Intervals of 90 % of the members' throughputs; null where the method knows none. Absent where it never does. */
  intervalsOf?(candidate: Colocation): readonly Interval[] | null
}

/** A way to choose among colocations, as the evaluation sees it. It may look at a split's training rows only. */
export interface Method {
  readonly name: string
  prepare(split: Split): Prepared
}

/** The slowdown model; it chooses by expected throughput, which is by expected regret. */
export const slowdownMethod: Method = {
  name: 'slowdown model',
  prepare({ train }) {
    const model = SlowdownModel.fit(train)
    const known = new Map<Colocation, ColocationPrediction>()
    const predict = (colocation: Colocation) => {
      const prediction = known.get(colocation) ?? model.predict(colocation.members)
      known.set(colocation, prediction)
      return prediction
    }
    return {
      sumsOf: (candidates) => candidates.map((candidate) => predict(candidate).throughputSum),
      scoresOf: (candidates) =>
        candidates.map((candidate) => {
          const { throughputSum: sum, throughputSumInterval } = predict(candidate)
          return expectedValue(sum, logSpread(throughputSumInterval))
        }),
      intervalsOf: (candidate) => predict(candidate).throughputIntervals,
    }
  },
}

/** What needs no measurements of co-runners: the jobs that are fastest alone. */
export const fastestAloneMethod: Method = {
  name: 'fastest alone',
  prepare: () => ({
    scoresOf: (candidates) =>
      candidates.map(({ members }) => members.reduce((sum, { exclusiveThroughput }) => sum + exclusiveThroughput, 0)),
  }),
}

/** Knows the truth; what the others are measured against. */
export const oracleMethod: Method = {
  name: 'oracle',
  prepare: () => ({ scoresOf: (candidates) => candidates.map(throughputSum) }),
}
