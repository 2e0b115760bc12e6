import type { ProfilePoint, ServiceProfile } from '../profile.js'

/**
 * A profile whose two columns agree: a queue of full batches is answered no faster than they end, and a batch takes no less than
 * its throughput says. Where they differ the slower one counts.
 */
export function withBatchRates({ model, points }: ServiceProfile): ServiceProfile {
  return {
    model,
    points: points.map((point) => {
      if (!(point.processThroughput > 0)) return point
      const latencyMs = Math.max(point.latencyMs, (1000 * point.batchSize) / point.processThroughput)
      return { ...point, latencyMs, processThroughput: (1000 * point.batchSize) / latencyMs }
    }),
  }
}

/** Items/s of an instance in full batches. */
export function fullBatchRate({
  processes,
  batchSize,
  latencyMs,
}: Pick<ProfilePoint, 'processes' | 'batchSize' | 'latencyMs'>): number {
  return (1000 * processes * batchSize) / latencyMs
}
