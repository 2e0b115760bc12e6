import { sum } from '@pctodl/numerics'
import { z } from 'zod'
import { sumOf } from './prometheus-text.js'
import type { ServiceSample } from './service-sample.js'

/** Number and total time (ms) of the batches of one size. */
export interface BatchTime {
  readonly size: number
  readonly count: number
  readonly ms: number
}

export interface TritonSample extends ServiceSample {
  /** Sum of the waiting times of completed requests, ms. */
  readonly waitMs: number
  readonly batches: readonly BatchTime[]
}

export interface BatchLimits {
  readonly maxBatchSize: number
  readonly maxQueueDelayMs: number
  readonly instances: number
}

export const PENDING = 'nv_inference_pending_request_count'

/** Largest number in the statistics that counts as a batch size. */
const LARGEST_BATCH = 65_536
const counter = z.number().min(0).max(Number.MAX_SAFE_INTEGER).default(0)
/** A sum of nanoseconds exceeds the safe integers within days; its rounding does not matter. */
const duration = z.object({ count: counter, ns: z.number().min(0).default(0) })
const statistics = z.object({
  model_stats: z.array(
    z.object({
      name: z.string().optional(),
      inference_stats: z.object({ success: duration, fail: duration, queue: duration }),
      batch_stats: z
        .array(z.object({ batch_size: z.int().min(1).max(LARGEST_BATCH), compute_infer: duration }))
        .default([]),
    }),
  ),
})
const configuration = z.object({
  max_batch_size: z.int().min(0).max(LARGEST_BATCH).default(0),
  dynamic_batching: z.object({ max_queue_delay_microseconds: z.coerce.number().min(0).max(1e9).default(0) }).nullish(),
  instance_group: z.array(z.object({ count: z.int().min(0).max(1000).default(1) })).default([]),
})

/**
 * Reads the counters of one model. The number of waiting requests comes from the metrics. All else comes from the
 * statistics, which are one snapshot. The size of a batch is its number of items; a request may have several.
 * @param stats body of `/v2/models/<model>/stats`, or of all models' `/v2/models/stats`, parsed
 * @returns null if the server has no such model @throws ZodError for invalid statistics
 */
export function readTriton(model: string, metrics: string, stats: unknown): TritonSample | null {
  const queued = sumOf(metrics, PENDING, { model })
  const versions = statistics.parse(stats).model_stats.filter(({ name = model }) => name === model)
  if (queued === null || versions.length === 0) return null
  const total = (of: (stats: (typeof versions)[number]['inference_stats']) => number) =>
    sum(versions.map(({ inference_stats }) => of(inference_stats)))
  const bySize = new Map<number, BatchTime>()
  for (const { batch_size: size, compute_infer: time } of versions.flatMap(({ batch_stats }) => batch_stats)) {
    const { count, ms } = bySize.get(size) ?? { count: 0, ms: 0 }
    bySize.set(size, { size, count: count + time.count, ms: ms + time.ns / 1e6 })
  }
  return {
    completed: total(({ success }) => success.count),
    failed: total(({ fail }) => fail.count),
    queued,
    running: 0,
    latencyMs: total(({ success }) => success.ns) / 1e6,
    waitMs: total(({ queue }) => queue.ns) / 1e6,
    batches: [...bySize.values()],
  }
}

/** @param config body of `/v2/models/<model>/config`, parsed @throws ZodError */
export function readTritonLimits(config: unknown): BatchLimits {
  const { max_batch_size: largest, dynamic_batching: batching, instance_group: groups } = configuration.parse(config)
  return {
    maxBatchSize: Math.max(1, largest),
    maxQueueDelayMs: (batching?.max_queue_delay_microseconds ?? 0) / 1000,
    instances: Math.max(1, sum(groups.map(({ count }) => count))),
  }
}
