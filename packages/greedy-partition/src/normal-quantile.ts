/**
 * P[X > z] of a standard normal variable, z >= 0, from the series of Marsaglia (2004, "Evaluating the normal distribution",
 * Journal of Statistical Software 11): 1/2 - phi(z) (z + z^3/3 + z^5/(3 5) + ...). Absolute error below 1e-15.
 */
export function normalTail(z: number): number {
  if (z > 8) return 0
  let term = z
  let sum = z
  for (let odd = 3; term > sum * 1e-17; odd += 2) {
    term *= (z * z) / odd
    sum += term
  }
  return Math.max(0, 0.5 - sum * Math.exp(-0.5 * z * z) * 0.3989422804014327)
}

/** The z for which P[X > z] = `probability`, for 1e-9 <= probability <= 0.5. By bisection: it is asked once a search. */
export function normalQuantileOfTail(probability: number): number {
  let low = 0
  let high = 8
  while (high - low > 1e-12) {
    const middle = 0.5 * (low + high)
    if (normalTail(middle) > probability) low = middle
    else high = middle
  }
  // The upper end, so that the tail beyond it is never more than was asked for.
  return probability === 0.5 ? 0 : high
}
