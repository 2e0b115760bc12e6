/**
 * Logarithm of the gamma function for z > 0, by Stirling's series after shifting the argument above 10. Absolute error
 * 1e-10.
 */
export function logGamma(z: number): number {
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

/** Regularised incomplete beta function I(x; a, b) by its continued fraction (Lentz's method), to 1e-10. */
export function incompleteBeta(x: number, a: number, b: number): number {
  if (x <= 0) return 0
  if (x >= 1) return 1
  // The fraction converges fast only left of the mean; symmetry maps other arguments there.
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(1 - x, b, a)
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x)) / a
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
}

function nonZero(value: number): number {
  const tiny = 1e-300
  return Math.abs(value) < tiny ? tiny : value
}
