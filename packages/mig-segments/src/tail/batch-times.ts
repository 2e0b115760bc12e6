import type { InstancePoint } from '../profile.js'
/** Makes throughput and latency of points consistent: the slower one counts. Points that did not run are left out. */
export function withBatchRates(points: readonly InstancePoint[]): InstancePoint[] {
  return points
    .filter(({ processThroughput }) => processThroughput > 0)
    .map((point) => {
      const latencyMs = Math.max(point.latencyMs, (1000 * point.batchSize) / point.processThroughput)
      return { ...point, latencyMs, processThroughput: (1000 * point.batchSize) / latencyMs }
    })
}

/**
 * Times of partial batches by number of requests, ms; index 0 is unused. A partial batch takes as long as the fastest
 * profiled batch of `points` with the same number of processes that is at least as large, up to the point's own.
 */
export function batchTimes(
  points: readonly InstancePoint[],
  { processes, batchSize }: Pick<InstancePoint, 'processes' | 'batchSize'>,
): Float64Array {
  const times = new Float64Array(batchSize + 1).fill(Infinity)
  for (const point of points) {
    if (point.processes !== processes || point.batchSize > batchSize) continue
    times[point.batchSize] = Math.min(times[point.batchSize]!, point.latencyMs)
  }
  for (let count = batchSize - 1; count >= 1; count--) times[count] = Math.min(times[count]!, times[count + 1]!)
  times[0] = 0
  return times
}
