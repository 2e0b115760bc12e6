import { mean, sampleVariance } from '@pctodl/numerics'
import { type Colocation, throughputSum } from '../colocation.js'
import { SlowdownModel } from '../model/slowdown-model.js'
import { PublishedLinearModel } from '../published/linear-model.js'
import { publishedRules } from '../published/rules.js'
import type { Split } from './splits.js'

/** What a method can do once it has seen the training rows. */
export interface Prepared {
  /** Scores of a list of candidates; higher is better. */
  scoresOf(candidates: readonly Colocation[]): readonly number[]
  /** Predicted sums of throughputs, samples/s; absent where the method only compares. */
  sumsOf?(candidates: readonly Colocation[]): readonly number[]
}

/** A way to choose among colocations, as the evaluation sees it. It may look at a split's training rows only. */
export interface Method {
  readonly name: string
  prepare(split: Split): Prepared
}

export const slowdownMethod: Method = {
  name: 'slowdown model',
  prepare({ train }) {
    const model = SlowdownModel.fit(train)
    const sumsOf = (candidates: readonly Colocation[]) => {
      const workloads = [...new Set(candidates.flatMap(({ members }) => members))]
      const table = model.slowdownTable(workloads)
      return candidates.map(({ members }) => {
        const kept = table.keptShares(members.map((member) => workloads.indexOf(member)))
        return members.reduce((sum, { exclusiveThroughput }, i) => sum + exclusiveThroughput * kept[i]!, 0)
      })
    }
    return { sumsOf, scoresOf: sumsOf }
  },
}

/**
 * The published model as published: fitted to the published part of the training rows (all of them where no list of that part
 * is known), candidates scaled by their own mean and deviation. Its sums need the test rows' labels to come back from z units,
 * as the published errors do: that is the leak.
 */
export const publishedMethod: Method = {
  name: 'published linear model',
  prepare({ train, publishedFit, test }) {
    const model = PublishedLinearModel.fit(publishedFit ?? train)
    const labels = test.map(throughputSum)
    const centre = mean(labels)
    const deviation = Math.sqrt(sampleVariance(labels))
    const scoresOf = (candidates: readonly Colocation[]) => model.scoresAmong(candidates.map(({ members }) => members))
    return { scoresOf, sumsOf: (candidates) => scoresOf(candidates).map((score) => centre + deviation * score) }
  },
}

/** The same model on all training rows, scaled by them alone. */
export const honestLinearMethod: Method = {
  name: 'linear model, honest',
  prepare({ train }) {
    const model = PublishedLinearModel.fit(train)
    const sumsOf = (candidates: readonly Colocation[]) => candidates.map(({ members }) => model.predict(members))
    return { sumsOf, scoresOf: sumsOf }
  },
}

/** What needs no training. */
export const ruleMethods: readonly Method[] = publishedRules.map((rule) => ({
  name: rule.name,
  prepare: () => ({ scoresOf: (candidates) => candidates.map(({ members }) => rule.score(members)) }),
}))

/** Knows the truth; what the others are measured against. */
export const oracleMethod: Method = {
  name: 'oracle',
  prepare: () => ({ scoresOf: (candidates) => candidates.map(throughputSum) }),
}
