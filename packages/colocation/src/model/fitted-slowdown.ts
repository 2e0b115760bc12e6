import type { TrainingRows } from './training-rows.js'

/** Everything that fitting found out: plain values, which JSON can hold (`new SlowdownModel(JSON.parse(text))`). */
export interface FittedSlowdown extends TrainingRows {
  /** Mean of the rows' exponents. */
  readonly mean: number
  /** Variance of each part of the covariance, then of a colocation's and of a row's noise. */
  readonly variances: readonly number[]
}
