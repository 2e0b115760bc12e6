/** Density of the standard normal distribution. */
export function normalDensity(z: number): number {
  return Math.exp(-0.5 * z * z) / Math.sqrt(2 * Math.PI)
}

/**
 * P[X <= z] of a standard normal variable. Hart's rational approximation 5666, as given by West ("Better approximations
 * to cumulative normal functions", Wilmott, 2005): absolute error below 1e-14; small tails keep their leading digits.
 */
export function normalCdf(z: number): number {
  const x = Math.abs(z)
  if (x > 37) return z > 0 ? 1 : 0
  const e = Math.exp((-x * x) / 2)
  let tail: number
  if (x < 7.07106781186547) {
    let top = 3.52624965998911e-2 * x + 0.700383064443688
    for (const c of [6.37396220353165, 33.912866078383, 112.079291497871, 221.213596169931, 220.206867912376])
      top = top * x + c
    let bottom = 8.83883476483184e-2 * x + 1.75566716318264
    for (const c of [
      16.064177579207, 86.7807322029461, 296.564248779674, 637.333633378831, 793.826512519948, 440.413735824752,
    ])
      bottom = bottom * x + c
    tail = (e * top) / bottom
  } else {
    tail = e / (x + 1 / (x + 2 / (x + 3 / (x + 4 / (x + 0.65))))) / 2.506628274631
  }
  return z > 0 ? 1 - tail : tail
}

/** P[X > z] of a standard normal variable, accurate in the far tail where `1 - normalCdf(z)` loses all digits. */
export function normalTail(z: number): number {
  return normalCdf(-z)
}

/**
 * The z for which P[X > z] = `probability`, by bisection to 1e-12. It is rounded up, so that P[X > z] never exceeds
 * `probability`.
 *
 * @param probability 1e-9 to 0.5
 */
export function normalQuantileOfTail(probability: number): number {
  if (probability === 0.5) return 0
  let low = 0
  let high = 8
  while (high - low > 1e-12) {
    const middle = 0.5 * (low + high)
    if (normalTail(middle) > probability) low = middle
    else high = middle
  }
  return high
}
