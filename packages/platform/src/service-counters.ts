import type { LatencyHistogram } from './latency-histogram.js'

/**
 * What became of a request: answered, turned away before anybody began with it, or begun and lost. A request that was answered
 * late counts as completed and, beside that, as late.
 */
export type RequestOutcome = 'completed' | 'shed' | 'failed'

/**
 * Monotonic counters of one service, and what it holds now. At every instant
 * `arrived = completed + shed + failed + queued + running`; two readings give what happened between them.
 */
export interface ServiceCounters {
  /** Name of the service. */
  readonly service: string
  /** Monotonic time of the reading, ms. */
  readonly timeMs: number
  readonly arrived: number
  /** Answered, in time or late. */
  readonly completed: number
  /** Of the completed: answered later than the objective's p99. */
  readonly late: number
  /** Turned away before anybody began with them: the queue was full, or a policy decided so. */
  readonly shed: number
  /** Begun and lost with their tenant, for the second time where another tenant could take them. */
  readonly failed: number
  /** Requests that wait now. */
  readonly queued: number
  /** Requests in the batches that run now. */
  readonly running: number
  /** From arrival to answer, of all completed; a copy that no longer changes. */
  readonly latencies: LatencyHistogram
  /** Why the last of the failed did; absent where none has. */
  readonly failure?: string
}

/** Requests that the counters have lost (above 0) or invented (below): 0 at every instant, or whoever counts is wrong. */
export function unaccountedRequests({ arrived, completed, shed, failed, queued, running }: ServiceCounters): number {
  return arrived - completed - shed - failed - queued - running
}

/**
 * Share of the requests that were decided between two readings and got an answer in time, 0..1; null where none was decided.
 * What was shed or failed counts as not in time.
 */
export function attainmentBetween(earlier: ServiceCounters, later: ServiceCounters): number | null {
  const decided = (counters: ServiceCounters) => counters.completed + counters.shed + counters.failed
  const of = decided(later) - decided(earlier)
  if (of === 0) return null
  return (later.completed - later.late - (earlier.completed - earlier.late)) / of
}

/** The counters as plain numbers, for records: monotonic since the service came, with what it holds now. */
export type ServiceReading = Omit<ServiceCounters, 'timeMs' | 'latencies' | 'failure'>

export function readingOf(counters: ServiceCounters): ServiceReading {
  const { service, arrived, completed, late, shed, failed, queued, running } = counters
  return { service, arrived, completed, late, shed, failed, queued, running }
}
