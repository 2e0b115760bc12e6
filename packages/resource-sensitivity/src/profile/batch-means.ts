import { mean, meanInterval } from '@pctodl/numerics'
import { InvalidInputError } from '@pctodl/platform'

/** A mean and where it lies with 95 % confidence; `null` bounds where one value cannot tell. */
export interface SeriesMean {
  readonly mean: number
  readonly low: number | null
  readonly high: number | null
}

/** Batches into which a series is cut: neighbouring iterations are alike (a loader fills its queue in bursts), means of many are not. */
const BATCHES = 10

/**
 * Mean of a series with a 95 % interval by batch means.
 *
 * @throws InvalidInputError for an empty series
 */
export function seriesMean(values: readonly number[]): SeriesMean {
  if (values.length === 0) throw new InvalidInputError('values', 'none', 'at least one value')
  const centre = mean(values)
  const count = Math.min(BATCHES, values.length)
  const size = Math.floor(values.length / count)
  const batches = Array.from({ length: count }, (_, i) =>
    mean(values.slice(i * size, i === count - 1 ? values.length : (i + 1) * size)),
  )
  const { halfWidth95 } = meanInterval(batches)
  if (halfWidth95 === null) return { mean: centre, low: null, high: null }
  return { mean: centre, low: Math.max(0, centre - halfWidth95), high: centre + halfWidth95 }
}
