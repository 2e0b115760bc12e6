import { mean, meanInterval } from '@pctodl/numerics'

/** Fewer boards than this give a range and no interval: resampled from 24 boards, intervals of four or eight held .52 to .96. */
export const MIN_INTERVAL_BOARDS = 16

/** How a figure differs between boards. */
export interface Spread {
  /** `interval`: of the mean, with 95 % confidence; `range`: from the least to the greatest, where boards are too few. */
  readonly kind: 'interval' | 'range'
  readonly low: number
  readonly high: number
  readonly boards: number
}

/**
 * The 95 % interval by Student's t, from 16 boards on; of fewer the range.
 *
 * @param scale `ratio` for values whose geometric mean counts
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

/** `0.998 to 1.004`; a range says that it is one. */
export function spreadText(spread: Spread | null | undefined, decimals = 3): string {
  if (!spread) return '-'
  const bounds = `${spread.low.toFixed(decimals)} to ${spread.high.toFixed(decimals)}`
  return spread.kind === 'interval' ? bounds : `range ${bounds}`
}

export function meanOrNull(values: readonly number[]): number | null {
  return values.length === 0 ? null : mean(values)
}

/** Of positive values. */
export function geometricMean(values: readonly number[]): number {
  return Math.exp(mean(values.map(Math.log)))
}
