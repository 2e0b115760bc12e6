import { meanInterval } from './mean-interval.js'

/**
 * Welch's test of whether two samples have the same mean, without assuming equal variances. Two-sided; the p-value is exact
 * up to the evaluation of the incomplete beta function (1e-10).
 *
 * @returns p in 0..1; null where either sample has fewer than two values, or neither varies
 */
export function welchTest(a: readonly number[], b: readonly number[]): number | null {
  if (a.length < 2 || b.length < 2) return null
  const [varianceA, varianceB] = [squaredError(a), squaredError(b)]
  const error = varianceA + varianceB
  if (error === 0) return null
  const t = (meanInterval(a).mean - meanInterval(b).mean) / Math.sqrt(error)
  const freedom = error ** 2 / (varianceA ** 2 / (a.length - 1) + varianceB ** 2 / (b.length - 1))
  return studentTwoSided(t, freedom)
}

/** Squared standard error of the mean. */
function squaredError(values: readonly number[]): number {
  const { mean } = meanInterval(values)
  return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1) / values.length
}

/** P(|T| > |t|) for Student's t: the regularised incomplete beta function I(n / (n + t^2); n/2, 1/2). */
export function studentTwoSided(t: number, freedom: number): number {
  return incompleteBeta(freedom / (freedom + t * t), freedom / 2, 0.5)
}

/** Regularised incomplete beta function by its continued fraction (Lentz's method). */
function incompleteBeta(x: number, a: number, b: number): number {
  if (x <= 0) return 0
  if (x >= 1) return 1
  // The fraction converges fast only left of the mean; the symmetry takes the rest there.
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(1 - x, b, a)
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x)) / a
  const tiny = 1e-300
  let c = 1
  let d = 1 / nonZero(1 - ((a + b) * x) / (a + 1))
  let fraction = d
  for (let m = 1; m <= 500; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m))
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1))
    for (const term of [even, odd]) {
      d = 1 / nonZero(1 + term * d)
      c = nonZero(1 + term / c)
      fraction *= c * d
    }
    if (Math.abs(c * d - 1) < 1e-12) break
  }
  return front * fraction

  function nonZero(value: number): number {
    return Math.abs(value) < tiny ? tiny : value
  }
}

/** Stirling's series after shifting the argument above 10. */
function logGamma(z: number): number {
  let shift = 0
  let x = z
  while (x < 10) shift -= Math.log(x++)
  return (
    shift +
    (x - 0.5) * Math.log(x) -
    x +
    0.5 * Math.log(2 * Math.PI) +
    1 / (12 * x) -
    1 / (360 * x ** 3) +
    1 / (1260 * x ** 5)
  )
}
