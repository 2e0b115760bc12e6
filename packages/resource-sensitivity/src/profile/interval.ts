import { InvalidInputError } from '@pctodl/platform'

/** A mean and where it lies with 95 % confidence; `null` bounds where one value cannot tell. */
export interface MeanInterval {
  readonly mean: number
  readonly low: number | null
  readonly high: number | null
}

/** Two-sided 95 % quantiles of Student's t for 1 to 9 degrees of freedom. */
const STUDENT_T = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262]

/** Batches into which a series is cut: neighbouring iterations are alike (a loader fills its queue in bursts), means of many are not. */
const BATCHES = 10

/**
 * Mean of a series with a 95 % interval by batch means.
 *
 * @throws InvalidInputError for an empty series
 */
export function meanInterval(values: readonly number[]): MeanInterval {
  if (values.length === 0) throw new InvalidInputError('values', 'none', 'at least one value')
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  const count = Math.min(BATCHES, values.length)
  if (count < 2) return { mean, low: null, high: null }
  const size = Math.floor(values.length / count)
  const means = Array.from({ length: count }, (_, i) => {
    const batch = values.slice(i * size, i === count - 1 ? values.length : (i + 1) * size)
    return batch.reduce((sum, value) => sum + value, 0) / batch.length
  })
  const centre = means.reduce((sum, value) => sum + value, 0) / count
  const variance = means.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (count - 1)
  const half = STUDENT_T[count - 2]! * Math.sqrt(variance / count)
  return { mean, low: Math.max(0, mean - half), high: mean + half }
}
