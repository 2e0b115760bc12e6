import { mean, sampleVariance } from '@pctodl/numerics'
import { type Colocation, throughputSum } from '../colocation.js'
import { treesAt } from '../math/boosted-trees.js'
import { askedWorkload, companyFeatures } from '../model/company-features.js'
import { plainTrees } from '../model/company-trees.js'
import type { Interval } from '../model/prediction.js'
import { SlowdownModel } from '../model/slowdown-model.js'
import { companyExponent, trainingRows } from '../model/training-rows.js'
import { PublishedLinearModel } from '../published/linear-model.js'
import { publishedRules } from '../published/rules.js'
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

export const slowdownMethod: Method = {
  name: 'slowdown model',
  prepare({ train }) {
    const model = SlowdownModel.fit(train)
    const sumsOf = (candidates: readonly Colocation[]) => {
      const workloads = [...new Set(candidates.flatMap(({ members }) => members))]
      const source = model.keptShareSource(workloads)
      return candidates.map(({ members }) => {
        const kept = source.keptShares(members.map((member) => workloads.indexOf(member)))
        return members.reduce((sum, { exclusiveThroughput }, i) => sum + exclusiveThroughput * kept[i]!, 0)
      })
    }
    return { sumsOf, scoresOf: sumsOf, intervalsOf: ({ members }) => model.predict(members).throughputIntervals }
  },
}

/** Boosted trees alone, on the features that the slowdown model's trees see: what a plain learner reaches. */
export const boostedTreesMethod: Method = {
  name: 'boosted trees',
  prepare({ train }) {
    const trees = plainTrees(trainingRows(train))
    const sumsOf = (candidates: readonly Colocation[]) =>
      candidates.map(({ members }) => {
        const asked = members.map(askedWorkload)
        return members.reduce((sum, { exclusiveThroughput }, i) => {
          const others = asked.filter((_, other) => other !== i)
          const exponent = treesAt(trees, companyFeatures(asked[i]!, others))
          return sum + exclusiveThroughput * Math.exp(companyExponent(members.length) * exponent)
        }, 0)
      })
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
