import { incompleteBeta } from './gamma-functions.js'

/**
 * P(|T| > |t|) for Student's t with n = `freedom` degrees of freedom, to 1e-8. It equals the regularised incomplete
 * beta function I(n / (n + t^2); n/2, 1/2).
 */
export function studentTwoSided(t: number, freedom: number): number {
  return incompleteBeta(freedom / (freedom + t * t), freedom / 2, 0.5)
}

/** 0.975 quantile for 1 to 10 degrees of freedom. */
const table = [12.7062, 4.30265, 3.18245, 2.77645, 2.57058, 2.44691, 2.36462, 2.306, 2.26216, 2.22814]

/**
 * 0.975 quantile of Student's t, for 95 % intervals. It comes from a table up to 10 degrees of freedom. Beyond the
 * table it is a Cornish-Fisher expansion around the normal quantile, accurate to 1e-4. A more precise value would
 * change intervals in existing results.
 *
 * @param freedom degrees of freedom, a whole number of at least 1
 */
export function studentQuantile975(freedom: number): number {
  const tabulated = table[freedom - 1]
  if (tabulated !== undefined) return tabulated
  const z = 1.959964
  const n = freedom
  const first = (z ** 3 + z) / 4
  const second = (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96
  const third = (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384
  return z + first / n + second / n ** 2 + third / n ** 3
}
