import type { InstancePoint } from '../profile.js'
/**
 * Points of an instance whose two columns agree: a queue of full batches is answered no faster than they end, and a batch takes no less than its
 * throughput says. Where they differ the slower one counts; what did not run is left out.
 */
export function withBatchRates(points: readonly InstancePoint[]): InstancePoint[] {
  return points
    .filter(({ processThroughput }) => processThroughput > 0)
    .map((point) => {
      const latencyMs = Math.max(point.latencyMs, (1000 * point.batchSize) / point.processThroughput)
      return { ...point, latencyMs, processThroughput: (1000 * point.batchSize) / latencyMs }
    })
}

/**
 * Times of batches that are not full: a batch of fewer requests is filled up to the profiled batch of as many processes that takes the least
 * time, at most the point's own.
 *
 * @param points of one instance, as `withBatchRates` has them
 * @returns ms by the number of requests, index 0 unused; does not fall
 */
export function batchTimes(
  points: readonly InstancePoint[],
  { processes, batchSize }: Pick<InstancePoint, 'processes' | 'batchSize'>,
): Float64Array {
  const times = new Float64Array(batchSize + 1).fill(Number.POSITIVE_INFINITY)
  for (const point of points) {
    if (point.processes !== processes || point.batchSize > batchSize) continue
    times[point.batchSize] = Math.min(times[point.batchSize]!, point.latencyMs)
  }
  for (let count = batchSize - 1; count >= 1; count--) times[count] = Math.min(times[count]!, times[count + 1]!)
  times[0] = 0
  return times
}
