import { type Colocation, throughputSum } from '../colocation.js'
import { type ColocationPrediction, expectedValue, type Interval, logSpread } from '../model/prediction.js'
import { SlowdownModel } from '../model/slowdown-model.js'
import type { Split } from './splits.js'

/** A method after training. */
export interface Prepared {
  /** Scores of the candidates; higher is better. */
  scoresOf(candidates: readonly Colocation[]): readonly number[]
  /** Predicted sums of throughputs, samples/s; absent where the method only ranks. */
  sumsOf?(candidates: readonly Colocation[]): readonly number[]
  /**
   * 90 % intervals of the members' throughputs; null where unknown for this candidate. Absent where the method has
   * none.
   */
  intervalsOf?(candidate: Colocation): readonly Interval[] | null
}

/** A way to choose among colocations, for evaluation. It may only use a split's training rows. */
export interface Method {
  readonly name: string
  prepare(split: Split): Prepared
}

/** The slowdown model. It chooses by expected throughput, which minimises expected regret. */
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

/** Baseline without measurements of co-runners: the jobs that are fastest alone. */
export const fastestAloneMethod: Method = {
  name: 'fastest alone',
  prepare: () => ({
    scoresOf: (candidates) =>
      candidates.map(({ members }) => members.reduce((sum, { exclusiveThroughput }) => sum + exclusiveThroughput, 0)),
  }),
}

/** Chooses by the measured values; the reference for all other methods. */
export const oracleMethod: Method = {
  name: 'oracle',
  prepare: () => ({ scoresOf: (candidates) => candidates.map(throughputSum) }),
}
