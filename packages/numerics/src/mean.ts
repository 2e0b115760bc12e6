/** Sum of the values, added from first to last: published figures depend on this order. 0 for an empty list. */
export function sum(values: ArrayLike<number>): number {
  let total = 0
  for (let i = 0; i < values.length; i++) total += values[i]!
  return total
}

/** Arithmetic mean; NaN for an empty list. */
export function mean(values: ArrayLike<number>): number {
  return sum(values) / values.length
}

/** Sample variance about the mean, with the divisor n - 1; NaN for fewer than two values. */
export function sampleVariance(values: ArrayLike<number>): number {
  const centre = mean(values)
  return values.length < 2 ? Number.NaN : sumOfSquares(values, centre) / (values.length - 1)
}

/** Standard deviation about the mean, with the divisor n, for a whole population; NaN for an empty list. */
export function populationDeviation(values: ArrayLike<number>): number {
  return Math.sqrt(sumOfSquares(values, mean(values)) / values.length)
}

function sumOfSquares(values: ArrayLike<number>, centre: number): number {
  let total = 0
  for (let i = 0; i < values.length; i++) total += (values[i]! - centre) ** 2
  return total
}
