import { InvalidInputError } from '@pctodl/platform'
import { assertPositive } from '../checks.js'

/** A job at one CPU count. */
export interface CacheModelInput {
  readonly datasetGb: number
  /** Read rate of the storage, MB/s. */
  readonly storageMBps: number
  /** Read rate of memory at this CPU count, GB/s. */
  readonly memoryGBps: number
  /** Seconds per epoch with the whole data set cached. */
  readonly cachedEpochS: number
  /** Memory for the data cache, GB; any excess over the data set is unused. */
  readonly cacheGb: number
}

export interface CacheModelResult {
  readonly epochS: number
  /** Storage rate below which the epoch takes longer, MB/s. */
  readonly storageMBps: number
}

/**
 * Epoch time with part of the data set in memory. A cache with a fixed set of items (MinIO, Mohan et al., VLDB '21) has
 * a hit rate equal to the fraction it holds, so the time to fetch an epoch is known. Fetching overlaps with computing;
 * reads from cache and storage are sequential.
 *
 * @throws InvalidInputError
 */
export function epochWithCache(input: CacheModelInput): CacheModelResult {
  const { datasetGb, storageMBps, memoryGBps, cachedEpochS, cacheGb } = input
  for (const [field, value] of Object.entries({ datasetGb, storageMBps, memoryGBps, cachedEpochS })) {
    assertPositive(field, value)
  }
  if (!(cacheGb >= 0)) throw new InvalidInputError('cacheGb', cacheGb, 'a number of at least 0')
  const cachedGb = Math.min(datasetGb, cacheGb)
  const missingGb = datasetGb - cachedGb
  if (missingGb === 0) return { epochS: cachedEpochS, storageMBps: 0 }
  const cacheS = cachedGb / memoryGBps
  const fetchS = cacheS + (missingGb * 1024) / storageMBps
  if (fetchS > cachedEpochS) return { epochS: fetchS, storageMBps }
  return { epochS: cachedEpochS, storageMBps: (missingGb * 1024) / (cachedEpochS - cacheS) }
}
