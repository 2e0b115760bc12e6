import { mean, sampleVariance, sum } from '@pctodl/numerics'
import { type Colocation, contains, throughputSum } from '../colocation.js'
import { type ColocationPrediction, expectedValue, type Interval, logSpread } from '../model/prediction.js'
import { SlowdownModel } from '../model/slowdown-model.js'
import { type Accuracy, accuracy } from './accuracy.js'
import type { Split } from './splits.js'

/** A method after training. */
export interface Prepared {
  /** Scores of the candidates; higher is better. */
  scoresOf(candidates: readonly Colocation[]): readonly number[]
  /** Predicted sums of throughputs, samples/s; absent if the method only ranks. */
  sumsOf?(candidates: readonly Colocation[]): readonly number[]
  /** 90 % intervals of the members' throughputs; null if unknown for this candidate. */
  intervalsOf?(candidate: Colocation): readonly Interval[] | null
}

/** A way to choose among colocations, for evaluation. It may only use a split's training rows. */
export interface Method {
  readonly name: string
  prepare(split: Split): Prepared
}

/** The slowdown model as a method. It chooses by expected throughput, which minimises expected regret. */
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

/** Baseline that uses no measurements of co-runners: it chooses the jobs that are fastest alone. */
export const fastestAloneMethod: Method = {
  name: 'fastest alone',
  prepare: () => ({
    scoresOf: (candidates) =>
      candidates.map(({ members }) => sum(members.map(({ exclusiveThroughput }) => exclusiveThroughput))),
  }),
}

/** Results of a method, averaged over several splits. */
export interface Evaluation {
  readonly method: string
  /** Accuracy of the predicted throughput sums; null for a method that ranks groups without predicting throughput. */
  readonly accuracy: Accuracy | null
  /**
   * Measured throughput sum of the chosen group, divided by the sum of the best group. Mean over the workloads, then
   * over the splits.
   */
  readonly gain: number
  /** Sample standard deviation of the gain over the splits; 0 for a single split. */
  readonly gainDeviation: number
  /** Measured throughput sum of the best group minus the sum of the chosen group, samples/s. */
  readonly regretPerS: number
  /** Share of the members' measured throughputs in their 90 % intervals; null for a method without intervals. */
  readonly memberCoverage: number | null
  /** Mean relative width of the members' 90 % intervals, `(high - low) / sqrt(high * low)`, percent. */
  readonly memberWidthPercent: number | null
}

/**
 * @param splits at least one
 * @param signal aborts between two splits
 */
export async function evaluateMethod(
  method: Method,
  splits: readonly Split[],
  signal?: AbortSignal,
): Promise<Evaluation> {
  const results: Omit<Evaluation, 'method' | 'gainDeviation'>[] = []
  for (const split of splits) {
    const { test } = split
    // Fitting blocks the event loop for seconds, so signals are handled between two splits.
    await new Promise((resolve) => setTimeout(resolve))
    signal?.throwIfAborted()
    const prepared = method.prepare(split)
    const sums = prepared.sumsOf?.(test)
    const gains = targetGains(test, (candidates) => prepared.scoresOf(candidates))
    results.push({
      accuracy: sums ? accuracy(test.map(throughputSum), sums) : null,
      gain: mean(gains.map(({ gain }) => gain)),
      regretPerS: mean(gains.map(({ regretPerS }) => regretPerS)),
      ...intervalFigures(prepared, test),
    })
  }
  /** Returns the mean of a figure over the splits that have it; null if none has it. */
  const meanOf = (figure: (result: (typeof results)[number]) => number | null | undefined) => {
    const values = results.flatMap((result) => figure(result) ?? [])
    return values.length === 0 ? null : mean(values)
  }
  const accuracyOf = (figure: keyof Accuracy) => meanOf((result) => result.accuracy?.[figure])!
  const gains = results.map(({ gain }) => gain)
  return {
    method: method.name,
    accuracy: results[0]!.accuracy && {
      mse: accuracyOf('mse'),
      maePerS: accuracyOf('maePerS'),
      mapePercent: accuracyOf('mapePercent'),
      spearman: accuracyOf('spearman'),
    },
    gain: mean(gains),
    gainDeviation: gains.length < 2 ? 0 : Math.sqrt(sampleVariance(gains)),
    regretPerS: meanOf(({ regretPerS }) => regretPerS)!,
    memberCoverage: meanOf(({ memberCoverage }) => memberCoverage),
    memberWidthPercent: meanOf(({ memberWidthPercent }) => memberWidthPercent),
  }
}

/** Returns the coverage and the relative width of a method's intervals of members; null without intervals. */
function intervalFigures(prepared: Prepared, test: readonly Colocation[]) {
  const judged = test.flatMap((colocation) =>
    (prepared.intervalsOf?.(colocation) ?? []).map(({ low, high }, i) => {
      const measured = colocation.throughputs[i]!
      return { holds: measured >= low && measured <= high, width: (high - low) / Math.sqrt(high * low) }
    }),
  )
  if (judged.length === 0) return { memberCoverage: null, memberWidthPercent: null }
  return {
    memberCoverage: mean(judged.map(({ holds }) => (holds ? 1 : 0))),
    memberWidthPercent: 100 * mean(judged.map(({ width }) => width)),
  }
}

export interface TargetGain {
  readonly target: string
  readonly candidates: number
  /** Measured sum of the chosen colocation over the best measured sum: 1 is the oracle's choice. */
  readonly gain: number
  readonly regretPerS: number
}

/**
 * For each workload, chooses the colocation with the highest score among those that contain it. Workloads with fewer
 * than two candidates are left out, as in the published study.
 *
 * @param scoresOf returns the scores in the order of the candidates. It gets the whole list because the published model
 *   scales features over it
 */
export function targetGains(
  colocations: readonly Colocation[],
  scoresOf: (candidates: readonly Colocation[]) => readonly number[],
): TargetGain[] {
  const targets = new Set(colocations.flatMap(({ members }) => members.map(({ name }) => name)))
  return [...targets].flatMap((target) => {
    const candidates = colocations.filter(({ members }) => contains(members, target))
    if (candidates.length < 2) return []
    const sums = candidates.map(throughputSum)
    const best = Math.max(...sums)
    const scores = scoresOf(candidates)
    const chosen = sums[scores.indexOf(Math.max(...scores))]!
    return [{ target, candidates: candidates.length, gain: chosen / best, regretPerS: best - chosen }]
  })
}
