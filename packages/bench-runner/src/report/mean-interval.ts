export interface MeanInterval {
  readonly mean: number
  /** Half the width of the 95 % confidence interval of the mean; null for fewer than two values. */
  readonly halfWidth95: number | null
}

/** Mean and its confidence interval by Student's t: mean +- t(0.975, n - 1) s / sqrt(n). */
export function meanInterval(values: readonly number[]): MeanInterval {
  const n = values.length
  const mean = values.reduce((sum, value) => sum + value, 0) / n
  if (n < 2) return { mean, halfWidth95: null }
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (n - 1)
  return { mean, halfWidth95: studentQuantile975(n - 1) * Math.sqrt(variance / n) }
}

/** 0.975 quantile of Student's t distribution for 1 to 10 degrees of freedom. */
const table = [12.7062, 4.30265, 3.18245, 2.77645, 2.57058, 2.44691, 2.36462, 2.306, 2.26216, 2.22814]

/** Beyond the table by the expansion of Fisher and Cornish around the normal quantile, right to 1e-4. */
export function studentQuantile975(degreesOfFreedom: number): number {
  const tabulated = table[degreesOfFreedom - 1]
  if (tabulated !== undefined) return tabulated
  const z = 1.959964
  const n = degreesOfFreedom
  const first = (z ** 3 + z) / 4
  const second = (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96
  const third = (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384
  return z + first / n + second / n ** 2 + third / n ** 3
}
