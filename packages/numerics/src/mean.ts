/** Plain summation, first to last: figures that others state depend on this order. 0 for nothing. */
export function sum(values: ArrayLike<number>): number {
  let total = 0
  for (let i = 0; i < values.length; i++) total += values[i]!
  return total
}

/** Arithmetic mean; NaN of nothing. */
export function mean(values: ArrayLike<number>): number {
  return sum(values) / values.length
}

/** Sample variance (n - 1), about the mean; NaN for fewer than two values. */
export function sampleVariance(values: ArrayLike<number>): number {
  const centre = mean(values)
  return values.length < 2 ? Number.NaN : sumOfSquares(values, centre) / (values.length - 1)
}

/** Standard deviation of a whole population (n), about the mean; NaN of nothing. */
export function populationDeviation(values: ArrayLike<number>): number {
  return Math.sqrt(sumOfSquares(values, mean(values)) / values.length)
}

function sumOfSquares(values: ArrayLike<number>, centre: number): number {
  let total = 0
  for (let i = 0; i < values.length; i++) total += (values[i]! - centre) ** 2
  return total
}
