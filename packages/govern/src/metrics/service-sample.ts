/** Number and total time (ms) of the batches of one size. */
export interface BatchTime {
  readonly size: number
  readonly count: number
  readonly ms: number
}

/** Histogram of latencies: cumulative counts by upper bound. Bounds ascend; the last is Infinity. */
export interface Latencies {
  readonly boundsMs: readonly number[]
  readonly counts: readonly number[]
  readonly sumMs: number
}

/** Counters of one service since its server started. */
export interface ServiceSample {
  readonly completed: number
  readonly failed: number
  /** Waiting and running requests; `running` is null if the server does not report it. */
  readonly queued: number
  readonly running: number | null
  /** Sum of the latencies of completed requests, ms. */
  readonly latencyMs: number
  /** Sum of the waiting times of completed requests, ms; null if the server does not report it. */
  readonly waitMs: number | null
  /** Number of requests completed later than the objective; null if the server does not count them. */
  readonly late: number | null
  /** Batch times by size; empty if the server does not report them. */
  readonly batches: readonly BatchTime[]
  /** Histogram of the latencies to which the objective applies; null if the server has none. */
  readonly judged: Latencies | null
}

/** Limits of a server's batching queue. */
export interface BatchLimits {
  readonly maxBatchSize: number
  readonly maxQueueDelayMs: number
  readonly instances: number
}

/** Differences of two histograms of one server; null if their buckets differ or a count fell. */
export function since(before: Latencies, after: Latencies): Latencies | null {
  const alike = before.boundsMs.length === after.boundsMs.length
  if (!alike || before.boundsMs.some((bound, i) => bound !== after.boundsMs[i])) return null
  const counts = after.counts.map((count, i) => count - before.counts[i]!)
  const sumMs = after.sumMs - before.sumMs
  return sumMs < 0 || counts.some((count) => count < 0) ? null : { boundsMs: after.boundsMs, counts, sumMs }
}

/** State of a server according to its metrics. */
export type EndpointState = 'serving' | 'idle' | 'draining' | 'gone' | 'reset'

/** Whether counters fell, which means that the server restarted. */
export function wasReset(before: ServiceSample, after: ServiceSample): boolean {
  return after.completed < before.completed || after.failed < before.failed || after.latencyMs < before.latencyMs - 1e-6
}

/**
 * @param after null if the server did not answer
 * @param ready result of the readiness probe; true if the server has no probe
 */
export function endpointState(
  before: ServiceSample | null,
  after: ServiceSample | null,
  ready: boolean,
): EndpointState {
  if (after === null) return 'gone'
  if (before !== null && wasReset(before, after)) return 'reset'
  if (!ready) return 'draining'
  const works = after.queued + (after.running ?? 0) > 0 || (before !== null && after.completed > before.completed)
  return works ? 'serving' : 'idle'
}
