import { InvalidInputError } from '@pctodl/platform'

/**
 * The q-quantile by linear interpolation between order statistics (Hyndman and Fan's type 7).
 *
 * @param values in any order, at least one
 * @param q 0..1
 * @throws InvalidInputError
 */
export function quantile(values: ArrayLike<number>, q: number): number {
  // A typed array sorts numerically without a comparison function.
  return quantileOfSorted(Float64Array.from(values).sort(), q)
}

/** The q-quantile, as `quantile` computes it, of values in ascending order. */
export function quantileOfSorted(ascending: ArrayLike<number>, q: number): number {
  if (ascending.length === 0) throw new InvalidInputError('values', 'none', 'at least one value')
  if (!(q >= 0 && q <= 1)) throw new InvalidInputError('q', q, 'a number from 0 to 1')
  const position = q * (ascending.length - 1)
  const low = ascending[Math.floor(position)]!
  const high = ascending[Math.ceil(position)]!
  // The test for equality avoids NaN for two equal infinities; the minimum avoids a result above `high` by rounding.
  return low === high ? low : Math.min(high, low + (position - Math.floor(position)) * (high - low))
}

/** The middle value, or the mean of the two middle values; NaN for an empty list. */
export function median(values: ArrayLike<number>): number {
  const sorted = Float64Array.from(values).sort()
  const half = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2
}

/**
 * The middle value, or the upper of the two middle values, so that the result always occurs in the list. NaN for an
 * empty list.
 */
export function upperMedian(values: ArrayLike<number>): number {
  const sorted = Float64Array.from(values).sort()
  return sorted[sorted.length >> 1] ?? Number.NaN
}

/**
 * Returns a bound that a further draw from the same distribution exceeds with a probability of at most `1 - level`, for
 * any distribution (split conformal prediction: Vovk, Gammerman and Shafer, "Algorithmic Learning in a Random World",
 * 2005). If there are too few values for this guarantee, returns the largest one.
 *
 * @param ascending at least one value
 */
export function conformalQuantile(ascending: ArrayLike<number>, level: number): number {
  const rank = Math.ceil(level * (ascending.length + 1))
  return ascending[Math.min(rank, ascending.length) - 1]!
}
