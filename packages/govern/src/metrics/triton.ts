import { z } from 'zod'
import { parsePrometheus, sumOf } from './prometheus-text.js'
import type { BatchLimits, ServiceSample } from './service-sample.js'

const names = new Set(
  ['request_success', 'request_failure', 'pending_request_count', 'request_duration_us', 'queue_duration_us'].map(
    (name) => `nv_inference_${name}`,
  ),
)

/** A larger number in the statistics is not a batch size. */
const LARGEST_BATCH = 65_536
const counter = z.number().min(0).max(Number.MAX_SAFE_INTEGER).default(0)
const duration = z.object({ count: counter, ns: counter })
const statistics = z.object({
  model_stats: z.array(
    z.object({
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
 * Reads the counters of one model of a Triton server. Batch times come from the statistics, because sums in `/metrics`
 * are weighted by request. The counter `pending` does not include running requests.
 *
 * @param metrics body of `/metrics`
 * @param stats body of `/v2/models/<model>/stats`, parsed
 * @returns null if the model has no series
 * @throws ZodError for invalid statistics
 */
export function readTriton(model: string, metrics: string, stats: unknown): ServiceSample | null {
  const series = parsePrometheus(metrics, names)
  const of = (name: string) => sumOf(series.get(`nv_inference_${name}`), { model })
  const completed = of('request_success')
  if (completed === null) return null
  const byKey = new Map<number, { count: number; ms: number }>()
  for (const { batch_size: size, compute_infer: time } of statistics
    .parse(stats)
    .model_stats.flatMap(({ batch_stats }) => batch_stats)) {
    const before = byKey.get(size) ?? { count: 0, ms: 0 }
    byKey.set(size, { count: before.count + time.count, ms: before.ms + time.ns / 1e6 })
  }
  return {
    completed,
    failed: of('request_failure') ?? 0,
    queued: of('pending_request_count') ?? 0,
    running: null,
    latencyMs: (of('request_duration_us') ?? 0) / 1000,
    waitMs: (of('queue_duration_us') ?? 0) / 1000,
    late: null,
    batches: [...byKey].map(([size, { count, ms }]) => ({ size, count, ms })),
    judged: null,
  }
}

/**
 * Reads the batching limits of a model.
 *
 * @param config body of `/v2/models/<model>/config`, parsed
 * @throws ZodError
 */
export function readTritonLimits(config: unknown): BatchLimits {
  const { max_batch_size: largest, dynamic_batching: batching, instance_group: groups } = configuration.parse(config)
  return {
    maxBatchSize: Math.max(1, largest),
    maxQueueDelayMs: (batching?.max_queue_delay_microseconds ?? 0) / 1000,
    instances: Math.max(
      1,
      groups.reduce((sum, { count }) => sum + count, 0),
    ),
  }
}
