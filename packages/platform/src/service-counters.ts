import type { LatencyHistogram } from './latency-histogram.js'

/**
 * How a request ended: it was answered, rejected before processing began, or lost during processing. A late answer
 * counts as `completed`, and also in `ServiceCounters.late`.
 */
export type RequestOutcome = 'completed' | 'shed' | 'failed'

/**
 * Monotonic counters of one service, and its queue at the time of the reading. `arrived = completed + shed + failed +
 * queued + running` always holds. The differences between two readings describe the time between them.
 */
export interface ServiceCounters {
  /** Name of the service. */
  readonly service: string
  /** Monotonic time of the reading, ms. */
  readonly timeMs: number
  readonly arrived: number
  /** Requests that were answered, within the objective or late. */
  readonly completed: number
  /** Completed requests whose latency exceeded the objective's p99 latency. */
  readonly late: number
  /** Requests that were rejected before processing began, because the queue was full or a policy shed them. */
  readonly shed: number
  /**
   * Requests that were lost because their tenant failed during processing. A lost request is first tried again once, if
   * another tenant can take it.
   */
  readonly failed: number
  /** Requests waiting now. */
  readonly queued: number
  /** Requests in the batches running now. */
  readonly running: number
  /** Latencies of all completed requests, from arrival to answer; an immutable copy. */
  readonly latencies: LatencyHistogram
  /** Reason of the latest failure; absent if no request failed. */
  readonly failure?: string
}

/**
 * Returns how many requests are missing from the counters (above 0) or counted twice (below 0). Any value but 0 is an
 * error in counting.
 */
export function unaccountedRequests({ arrived, completed, shed, failed, queued, running }: ServiceCounters): number {
  return arrived - completed - shed - failed - queued - running
}

/**
 * Returns the attainment between two readings: the fraction of the decided requests that were answered within the
 * objective, 0..1. Shed and failed requests count as missed. Null if no request was decided.
 */
export function attainmentBetween(earlier: ServiceCounters, later: ServiceCounters): number | null {
  const decided = (counters: ServiceCounters) => counters.completed + counters.shed + counters.failed
  const of = decided(later) - decided(earlier)
  if (of === 0) return null
  return (later.completed - later.late - (earlier.completed - earlier.late)) / of
}

/** Counters of a service as plain numbers, for records. They include the queue at the time of the reading. */
export type ServiceReading = Omit<ServiceCounters, 'timeMs' | 'latencies' | 'failure'>

export function readingOf(counters: ServiceCounters): ServiceReading {
  const { service, arrived, completed, late, shed, failed, queued, running } = counters
  return { service, arrived, completed, late, shed, failed, queued, running }
}
