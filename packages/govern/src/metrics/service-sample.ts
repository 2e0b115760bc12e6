/** Batches of one size: how many ran, and for how long together, ms. */
export interface BatchTime {
  readonly size: number
  readonly count: number
  readonly ms: number
}

/** A histogram of latencies: how many lie within each bound; bounds ascend, the last is Infinity. */
export interface Latencies {
  readonly boundsMs: readonly number[]
  readonly counts: readonly number[]
  readonly sumMs: number
}

/** What a server has counted for one service since it started. */
export interface ServiceSample {
  readonly completed: number
  readonly failed: number
  /** Requests that wait now, and those that run; null where the server does not tell. */
  readonly queued: number
  readonly running: number | null
  /** Sum over completed requests, ms. */
  readonly latencyMs: number
  /** The part of it that they waited, ms; null where the server does not tell. */
  readonly waitMs: number | null
  /** Completed later than the objective; null where the server does not count it. */
  readonly late: number | null
  /** 99th percentile of a recent time, ms; null where it is unknown. */
  readonly p99Ms: number | null
  /** Times of batches by size; empty where the server does not tell. */
  readonly batches: readonly BatchTime[]
  /** Latencies of the kind that the objective judges; null where the server has no histogram. */
  readonly judged: Latencies | null
}

/** Limits of a server's batching queue. */
export interface BatchLimits {
  readonly maxBatchSize: number
  readonly maxQueueDelayMs: number
  readonly instances: number
}

/** What came between two samples of one server; null where their buckets differ, or a count fell. */
export function since(before: Latencies, after: Latencies): Latencies | null {
  const alike = before.boundsMs.length === after.boundsMs.length
  if (!alike || before.boundsMs.some((bound, i) => bound !== after.boundsMs[i])) return null
  const counts = after.counts.map((count, i) => count - before.counts[i]!)
  const sumMs = after.sumMs - before.sumMs
  return sumMs < 0 || counts.some((count) => count < 0) ? null : { boundsMs: after.boundsMs, counts, sumMs }
}

/** How a server is found, as far as metrics tell. */
export type EndpointState = 'serving' | 'idle' | 'draining' | 'gone' | 'reset'

/** Counters that fell: the server has started again. */
export function wasReset(before: ServiceSample, after: ServiceSample): boolean {
  return after.completed < before.completed || after.failed < before.failed || after.latencyMs < before.latencyMs - 1e-6
}

/** @param after null where the server did not answer. @param ready what its readiness probe says; true where it has none */
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
