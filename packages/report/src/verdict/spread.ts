import { mean, meanInterval } from '@pctodl/numerics'

/**
 * Minimum number of boards for a confidence interval. With fewer boards, tables show the range: in draws of four or
 * eight boards out of 24, intervals with a nominal level of 95 % contained the mean in only 52 to 96 % of the cases.
 */
const MIN_INTERVAL_BOARDS = 16

/** Spread of a figure between boards. */
export interface Spread {
  /**
   * `interval`: 95 % confidence interval of the mean. `range`: the values of the lowest and the highest board, if there
   * are too few for an interval.
   */
  readonly kind: 'interval' | 'range'
  readonly low: number
  readonly high: number
  readonly boards: number
}

/**
 * Returns the spread of values: the 95 % confidence interval by Student's t for 16 values or more, and the range for
 * fewer.
 *
 * @param scale `ratio` for the interval of the geometric mean
 * @returns null for fewer than two values
 */
export function spreadOf(values: readonly number[], scale: 'plain' | 'ratio' = 'plain'): Spread | null {
  const boards = values.length
  if (boards < 2 || !values.every((value) => Number.isFinite(value) && (scale === 'plain' || value > 0))) return null
  if (boards < MIN_INTERVAL_BOARDS)
    return { kind: 'range', low: Math.min(...values), high: Math.max(...values), boards }
  const [to, from] = scale === 'ratio' ? [Math.log, Math.exp] : [Number, Number]
  const { mean, halfWidth95 } = meanInterval(values.map(to))
  return { kind: 'interval', low: from(mean - halfWidth95!), high: from(mean + halfWidth95!), boards }
}

/** Text such as `0.998 to 1.004`; a range begins with the word `range`. */
export function spreadText(spread: Spread | null | undefined, decimals = 3): string {
  if (!spread) return '-'
  const bounds = `${spread.low.toFixed(decimals)} to ${spread.high.toFixed(decimals)}`
  return spread.kind === 'interval' ? bounds : `range ${bounds}`
}

export function meanOrNull(values: readonly number[]): number | null {
  return values.length === 0 ? null : mean(values)
}

/** Geometric mean of positive values. */
export function geometricMean(values: readonly number[]): number {
  return Math.exp(mean(values.map(Math.log)))
}
