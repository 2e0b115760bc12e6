import type { LatencyHistogram } from './latency-histogram.js'

/**
 * Final state of a request: answered, rejected before processing began, or lost during processing. A late answer counts
 * as completed and also as late.
 */
export type RequestOutcome = 'completed' | 'shed' | 'failed'

/**
 * Monotonic counters of one service, and its current queue. `arrived = completed + shed + failed + queued + running`
 * holds at every instant; differences between two readings describe the time between them.
 */
export interface ServiceCounters {
  /** Name of the service. */
  readonly service: string
  /** Monotonic time of the reading, ms. */
  readonly timeMs: number
  readonly arrived: number
  /** Answered, in time or late. */
  readonly completed: number
  /** Completed requests that exceeded the objective's p99 latency. */
  readonly late: number
  /** Rejected before processing began, because the queue was full or by policy. */
  readonly shed: number
  /** Lost with their tenant during processing; a request is first retried once if another tenant can take it. */
  readonly failed: number
  /** Requests waiting now. */
  readonly queued: number
  /** Requests in the batches running now. */
  readonly running: number
  /** Latencies from arrival to answer of all completed requests; an immutable copy. */
  readonly latencies: LatencyHistogram
  /** Reason of the latest failure; absent where none occurred. */
  readonly failure?: string
}

/** Requests missing from the counters (above 0) or counted twice (below 0). Any value but 0 is a counting error. */
export function unaccountedRequests({ arrived, completed, shed, failed, queued, running }: ServiceCounters): number {
  return arrived - completed - shed - failed - queued - running
}

/**
 * Share of the requests decided between two readings that were answered in time, 0..1; null where none was decided.
 * Shed and failed requests count as not in time.
 */
export function attainmentBetween(earlier: ServiceCounters, later: ServiceCounters): number | null {
  const decided = (counters: ServiceCounters) => counters.completed + counters.shed + counters.failed
  const of = decided(later) - decided(earlier)
  if (of === 0) return null
  return (later.completed - later.late - (earlier.completed - earlier.late)) / of
}

/** The counters as plain numbers, for records: monotonic since the service began, with its present queue. */
export type ServiceReading = Omit<ServiceCounters, 'timeMs' | 'latencies' | 'failure'>

export function readingOf(counters: ServiceCounters): ServiceReading {
  const { service, arrived, completed, late, shed, failed, queued, running } = counters
  return { service, arrived, completed, late, shed, failed, queued, running }
}
