import { InvalidInputError } from '@pctodl/platform'

/**
 * The q-quantile by linear interpolation between order statistics (Hyndman and Fan's type 7).
 *
 * @param values in any order, at least one
 * @param q 0..1
 * @throws InvalidInputError
 */
export function quantile(values: ArrayLike<number>, q: number): number {
  // A typed array sorts numbers, without a function that compares them.
  return quantileOfSorted(Float64Array.from(values).sort(), q)
}

/** The same of values that are sorted already, ascending. */
export function quantileOfSorted(ascending: ArrayLike<number>, q: number): number {
  if (ascending.length === 0) throw new InvalidInputError('values', 'none', 'at least one value')
  if (!(q >= 0 && q <= 1)) throw new InvalidInputError('q', q, 'a number from 0 to 1')
  const position = q * (ascending.length - 1)
  const low = ascending[Math.floor(position)]!
  const high = ascending[Math.ceil(position)]!
  // Two equal infinities must not make a NaN, nor rounding a value beyond the two.
  return low === high ? low : Math.min(high, low + (position - Math.floor(position)) * (high - low))
}

/** The middle value, the mean of the middle two where there is an even number; NaN of nothing. */
export function median(values: ArrayLike<number>): number {
  const sorted = Float64Array.from(values).sort()
  const half = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2
}

/** The middle value, the upper one of the middle two where there is an even number: always a value that occurred. NaN of nothing. */
export function upperMedian(values: ArrayLike<number>): number {
  const sorted = Float64Array.from(values).sort()
  return sorted[sorted.length >> 1] ?? Number.NaN
}

/**
 * The value that a further one, drawn alike, exceeds with probability `1 - level` at most, whatever the distribution (split
 * conformal prediction: Vovk, Gammerman and Shafer, "Algorithmic Learning in a Random World", 2005); the largest where there
 * are too few to tell.
 *
 * @param ascending at least one value
 */
export function conformalQuantile(ascending: ArrayLike<number>, level: number): number {
  const rank = Math.ceil(level * (ascending.length + 1))
  return ascending[Math.min(rank, ascending.length) - 1]!
}
