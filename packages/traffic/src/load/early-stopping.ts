import { incompleteBeta } from '@pctodl/numerics'
import { InvalidInputError } from '@pctodl/platform'

/** Confidence that MLPerf inference asks for. */
const CONFIDENCE = 0.99

/**
 * How many queries a run needs at least so that `over` of them may be above a bound and the percentile still is below it with
 * a confidence of 99 %: the smallest count at which so few would be seen in at most 1 % of all runs if the percentile were
 * at the bound (MLPerf inference rules, appendix "Early Stopping Criterion"; the binomial sum as an incomplete beta function).
 *
 * @param percentile above 0 and below 1: 0.99 for p99
 * @param over queries above the bound, a whole number
 */
export function queriesNeeded(percentile: number, over: number): number {
  assertPercentile(percentile)
  if (!Number.isInteger(over) || over < 0) throw new InvalidInputError('over', over, 'a whole number of queries')
  // P[at most `over` of n queries are above] falls with n.
  const holds = (n: number) => incompleteBeta(percentile, n - over, over + 1) <= 1 - CONFIDENCE
  let high = over + 1
  while (!holds(high)) high *= 2
  let low = over
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (holds(middle)) high = middle
    else low = middle
  }
  return high
}

/**
 * An upper estimate of a percentile, with a confidence of 99 %; null where there are too few queries for one.
 *
 * @param ascendingMs latencies in ascending order, ms
 * @param percentile above 0 and below 1
 */
export function percentileWithConfidence(ascendingMs: ArrayLike<number>, percentile: number): number | null {
  assertPercentile(percentile)
  const count = ascendingMs.length
  // The bound lies just below the over-th largest latency: the more may be above it, the lower it is.
  let over = 0
  let step = 1
  while (queriesNeeded(percentile, over + step) <= count) {
    over += step
    step *= 2
  }
  for (; step >= 1; step = Math.floor(step / 2)) if (queriesNeeded(percentile, over + step) <= count) over += step
  return over === 0 ? null : ascendingMs[count - over]!
}

function assertPercentile(percentile: number): void {
  if (!(percentile > 0 && percentile < 1)) {
    throw new InvalidInputError('percentile', percentile, 'a share above 0 and below 1, as 0.99')
  }
}
