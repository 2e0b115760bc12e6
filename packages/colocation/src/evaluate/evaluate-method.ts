import { mean, sampleVariance } from '@pctodl/numerics'
import { type Colocation, throughputSum } from '../colocation.js'
import { type Accuracy, accuracy } from './accuracy.js'
import type { Method, Prepared } from './method.js'
import type { Split } from './splits.js'
import { targetGains } from './target-gain.js'

/** How a method does over several splits: means over them. */
export interface Evaluation {
  readonly method: string
  readonly splits: number
  /** Null for a method that only compares. */
  readonly accuracy: Accuracy | null
  /** Measured sum of what is chosen for a workload over the best; mean over workloads, then over splits. */
  readonly gain: number
  /** Sample standard deviation of the gain over the splits; 0 for one. */
  readonly gainDeviation: number
  /** What the oracle's choice has more, samples/s. */
  readonly regretPerS: number
  /** Part of the members' measured throughputs that lie in their intervals of 90 %; null for a method without. */
  readonly memberCoverage: number | null
  /** Mean width of these, percent of the predicted throughput (the middle by ratio). */
  readonly memberWidthPercent: number | null
  /** Time to learn from one split's training rows, ms; null without a clock. */
  readonly trainingMs: number | null
}

/**
 * @param splits at least one
 * @param options.now a clock in ms, for the training time
 * @param options.signal ends it between two splits
 */
export async function evaluateMethod(
  method: Method,
  splits: readonly Split[],
  { now, signal }: { readonly now?: () => number; readonly signal?: AbortSignal } = {},
): Promise<Evaluation> {
  const results = []
  for (const split of splits) {
    // Fitting takes seconds: signals are heard between two.
    await new Promise((resolve) => setTimeout(resolve))
    signal?.throwIfAborted()
    const beginMs = now?.()
    const prepared = method.prepare(split)
    const trainingMs = now && beginMs !== undefined ? now() - beginMs : null
    const sums = prepared.sumsOf?.(split.test)
    const gains = targetGains(split.test, (candidates) => prepared.scoresOf(candidates))
    results.push({
      accuracy: sums ? accuracy(split.test.map(throughputSum), sums) : null,
      gain: mean(gains.map(({ gain }) => gain)),
      regretPerS: mean(gains.map(({ regretPerS }) => regretPerS)),
      intervals: intervalsOf(prepared, split.test),
      trainingMs,
    })
  }
  const gains = results.map(({ gain }) => gain)
  const gain = mean(gains)
  const accuracies = results.flatMap((result) => (result.accuracy ? [result.accuracy] : []))
  const times = results.flatMap(({ trainingMs }) => (trainingMs === null ? [] : [trainingMs]))
  return {
    method: method.name,
    splits: splits.length,
    accuracy: accuracies.length === 0 ? null : meanAccuracy(accuracies),
    gain,
    gainDeviation: gains.length < 2 ? 0 : Math.sqrt(sampleVariance(gains)),
    regretPerS: mean(results.map(({ regretPerS }) => regretPerS)),
    ...meanIntervals(results.flatMap(({ intervals }) => (intervals ? [intervals] : []))),
    trainingMs: times.length === 0 ? null : mean(times),
  }
}

interface JudgedIntervals {
  readonly coverage: number
  readonly widthPercent: number
}

function intervalsOf(prepared: Prepared, test: readonly Colocation[]): JudgedIntervals | null {
  const judged = test.flatMap((colocation) =>
    (prepared.intervalsOf?.(colocation) ?? []).map(({ low, high }, i) => {
      const measured = colocation.throughputs[i]!
      return { holds: measured >= low && measured <= high, width: (high - low) / Math.sqrt(high * low) }
    }),
  )
  if (judged.length === 0) return null
  return {
    coverage: mean(judged.map(({ holds }) => (holds ? 1 : 0))),
    widthPercent: 100 * mean(judged.map(({ width }) => width)),
  }
}

function meanIntervals(
  intervals: readonly JudgedIntervals[],
): Pick<Evaluation, 'memberCoverage' | 'memberWidthPercent'> {
  if (intervals.length === 0) return { memberCoverage: null, memberWidthPercent: null }
  return {
    memberCoverage: mean(intervals.map(({ coverage }) => coverage)),
    memberWidthPercent: mean(intervals.map(({ widthPercent }) => widthPercent)),
  }
}

function meanAccuracy(accuracies: readonly Accuracy[]): Accuracy {
  const meanOf = (field: keyof Accuracy) => mean(accuracies.map((one) => one[field]))
  return {
    mse: meanOf('mse'),
    maePerS: meanOf('maePerS'),
    mapePercent: meanOf('mapePercent'),
    spearman: meanOf('spearman'),
  }
}
