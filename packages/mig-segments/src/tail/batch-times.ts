import type { ProfilePoint, ServiceProfile } from '../profile.js'

/**
 * Times of batches that are not full: a batch of fewer requests is filled up to the profiled batch of the same instance size and
 * number of processes that takes the least time, at most the point's own.
 *
 * @returns ms by the number of requests, index 0 unused; does not fall
 */
export function batchTimes(
  { points }: ServiceProfile,
  { sizeGpcs, processes, batchSize }: Pick<ProfilePoint, 'sizeGpcs' | 'processes' | 'batchSize'>,
): Float64Array {
  const times = new Float64Array(batchSize + 1).fill(Number.POSITIVE_INFINITY)
  for (const point of points) {
    if (point.sizeGpcs !== sizeGpcs || point.processes !== processes) continue
    if (!(point.processThroughput > 0) || point.batchSize > batchSize) continue
    times[point.batchSize] = Math.min(times[point.batchSize]!, point.latencyMs)
  }
  for (let count = batchSize - 1; count >= 1; count--) times[count] = Math.min(times[count]!, times[count + 1]!)
  times[0] = 0
  return times
}
