import { incompleteBeta } from '@pctodl/numerics'
import { InvalidInputError } from '@pctodl/platform'

/** Confidence level that MLPerf inference requires. */
const CONFIDENCE = 0.99

/**
 * Returns how many queries a run must have to show with 99 % confidence that a percentile is below a bound, if `over`
 * of its queries exceed the bound. If the percentile were at the bound, at most 1 % of runs of this length would have
 * `over` or fewer such queries (MLPerf inference rules, appendix "Early Stopping Criterion"). The binomial sum is
 * computed as an incomplete beta function.
 *
 * @param percentile above 0 and below 1: 0.99 for p99
 * @param over number of queries above the bound
 */
export function queriesNeeded(percentile: number, over: number): number {
  if (!(percentile > 0 && percentile < 1)) {
    throw new InvalidInputError('percentile', percentile, 'a share above 0 and below 1, as 0.99')
  }
  if (!Number.isInteger(over) || over < 0) throw new InvalidInputError('over', over, 'a whole number of queries')
  // The probability that at most `over` of n queries exceed the bound decreases with n.
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
