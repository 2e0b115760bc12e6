import { mean, sampleVariance } from '@pctodl/numerics'
import { type Colocation, throughputSum } from '../colocation.js'
import { type Accuracy, accuracy } from './accuracy.js'
import type { Method, Prepared } from './method.js'
import type { Split } from './splits.js'
import { targetGains } from './target-gain.js'

/** Results of a method, averaged over several splits. */
export interface Evaluation {
  readonly method: string
  readonly splits: number
  /** Null for a method that only ranks. */
  readonly accuracy: Accuracy | null
  /**
   * Measured sum of the chosen group over that of the best, for each workload; mean over workloads, then over splits.
   */
  readonly gain: number
  /** Sample standard deviation of the gain over the splits; 0 for a single split. */
  readonly gainDeviation: number
  /** Measured sum of the best group minus that of the chosen one, samples/s. */
  readonly regretPerS: number
  /**
   * Share of the members' measured throughputs that lie in their 90 % intervals; null for a method without intervals.
   */
  readonly memberCoverage: number | null
  /** Mean relative width of these intervals, percent of the geometric mean of their ends. */
  readonly memberWidthPercent: number | null
  /** Time to train on one split, ms; null without a clock. */
  readonly trainingMs: number | null
}

/**
 * @param splits at least one
 * @param options.now a clock in ms, to time training
 * @param options.signal aborts between two splits
 */
export async function evaluateMethod(
  method: Method,
  splits: readonly Split[],
  { now, signal }: { readonly now?: () => number; readonly signal?: AbortSignal } = {},
): Promise<Evaluation> {
  const results = []
  for (const split of splits) {
    // Fitting blocks for seconds, so let signals through between two splits.
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
