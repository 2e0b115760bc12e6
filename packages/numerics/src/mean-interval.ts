import { mean, sampleVariance } from './mean.js'
import { studentQuantile975 } from './student-distribution.js'

export interface MeanInterval {
  readonly mean: number
  /** Half the width of the 95 % confidence interval of the mean; null for fewer than two values. */
  readonly halfWidth95: number | null
}

/** Mean and its confidence interval by Student's t: mean +- t(0.975, n - 1) s / sqrt(n). */
export function meanInterval(values: readonly number[]): MeanInterval {
  const n = values.length
  const halfWidth95 = n < 2 ? null : studentQuantile975(n - 1) * Math.sqrt(sampleVariance(values) / n)
  return { mean: mean(values), halfWidth95 }
}
