import { mean } from '@pctodl/numerics'
import { type Clock, InvalidInputError, type RequestOutcome, reasonOf } from '@pctodl/platform'
import { type ArrivalProcess, notNegative, positive } from '../arrivals/arrival-process.js'
import { queriesNeeded } from './early-stopping.js'
import { type LatencyQuantiles, quantilesOf } from './latency-report.js'
import type { Query, SystemUnderTest } from './system-under-test.js'

export interface ServerLoadOptions {
  /** Real or virtual time. */
  readonly clock: Clock
  /** Aborts the run: no more queries are sent, and the call rejects with the signal's reason. */
  readonly signal?: AbortSignal
  /** Due times of queries. MLPerf's rule is `poissonArrivals`. */
  readonly arrivals: ArrivalProcess
  /** Default 1. */
  readonly seed?: number
  /** Bound that the latency percentile of all queries must not exceed, ms. */
  readonly latencyBoundMs: number
  /** Default 0.99. */
  readonly percentile?: number
  /** Minimum time during which queries are sent, ms. Default 600,000. */
  readonly minDurationMs?: number
  /** Minimum number of queries. Default: as many as are needed to know the percentile with 99 % confidence. */
  readonly minQueries?: number
  /**
   * Maximum number of queries that are not answered yet. The generator sheds further ones, so that a system that does
   * not respond cannot exhaust memory. Default 100,000.
   */
  readonly maxOpen?: number
}

/**
 * Result of a run of the load generator. Quantiles are exact and include all queries; a query that was not answered
 * counts as infinite latency.
 */
export interface LoadResult extends LatencyQuantiles {
  readonly queries: number
  readonly completed: number
  readonly shed: number
  readonly failed: number
  /** Time from the first query to the last answer, ms. */
  readonly durationMs: number
  /** Mean latency of answered queries, ms; null if there are none. */
  readonly meanMs: number | null
  /** Latencies from due time to answer, ms, ascending; Infinity for unanswered queries. */
  readonly latenciesMs: Float64Array
  /** Longest delay between the time when a query was due and its sending, ms. Latencies include this delay. */
  readonly maxBehindMs: number
  /** Whether the run shows that the percentile is below the bound. `problems` says why not. */
  readonly valid: boolean
  readonly problems: readonly string[]
  /** Messages of failed queries: the first few different ones. */
  readonly reasons: readonly string[]
}

/** Maximum number of different reasons of failures that are kept. */
const REASONS_KEPT = 5

/**
 * Runs MLPerf inference's Server scenario, an open loop. Queries are sent when they are due, whether or not earlier
 * ones were answered, and latency counts from the due time. A stall therefore delays all requests that users would have
 * sent during it (no coordinated omission). The run is valid if the percentile is below the bound with 99 % confidence.
 */
export async function serverLoad(system: SystemUnderTest, options: ServerLoadOptions): Promise<LoadResult> {
  const { clock, signal, arrivals, seed = 1, latencyBoundMs, percentile = 0.99 } = options
  const { minDurationMs = 600_000, minQueries = queriesNeeded(percentile, 1), maxOpen = 100_000 } = options
  positive('latencyBoundMs', latencyBoundMs, 'milliseconds above 0')
  notNegative('minDurationMs', minDurationMs, 'milliseconds of at least 0')
  if (!Number.isInteger(minQueries) || minQueries < 1) {
    throw new InvalidInputError('minQueries', minQueries, 'a whole number of at least 1')
  }
  positive('maxOpen', maxOpen)
  const due = arrivals.start(seed)
  const startMs = clock.now()
  const counts = { completed: 0, shed: 0, failed: 0 }
  const latencies: number[] = []
  const reasons = new Set<string>()
  const open = new Set<Promise<void>>()
  let lastAnswerMs = startMs
  let maxBehindMs = 0
  const ask = async (query: Query): Promise<void> => {
    let outcome: RequestOutcome
    try {
      outcome = open.size >= maxOpen ? 'shed' : ((await system.answer(query)) ?? 'completed')
    } catch (error) {
      outcome = 'failed'
      if (reasons.size < REASONS_KEPT) reasons.add(reasonOf(error))
    }
    counts[outcome]++
    lastAnswerMs = clock.now()
    latencies.push(outcome === 'completed' ? lastAnswerMs - query.dueMs : Number.POSITIVE_INFINITY)
  }
  let sent = 0
  for (let afterMs = due.nextMs(); afterMs < Infinity; afterMs = due.nextMs()) {
    if (afterMs >= minDurationMs && sent >= minQueries) break
    const dueMs = startMs + afterMs
    if (dueMs > clock.now()) await clock.sleep(dueMs - clock.now(), signal)
    signal?.throwIfAborted()
    maxBehindMs = Math.max(maxBehindMs, clock.now() - dueMs)
    const answered = ask({ id: sent++, dueMs }).finally(() => open.delete(answered))
    open.add(answered)
  }
  await Promise.all(open)
  const latenciesMs = Float64Array.from(latencies).sort()
  const queries = latenciesMs.length
  const answeredMs = latencies.filter((ms) => ms < Infinity)
  const over = latencies.filter((ms) => ms > latencyBoundMs).length
  const problems: string[] = []
  if (queries < minQueries) problems.push(`${queries} queries, fewer than ${minQueries}: the arrivals ended`)
  else if (queries < queriesNeeded(percentile, over)) {
    const share = Math.round(percentile * 1000) / 10
    problems.push(
      `${over} of ${queries} queries took more than ${latencyBoundMs} ms: too many for a p${share} below it`,
    )
  }
  return {
    ...{ queries, ...counts, durationMs: lastAnswerMs - startMs },
    meanMs: answeredMs.length === 0 ? null : mean(answeredMs),
    ...quantilesOf((share) => latenciesMs[Math.max(0, Math.ceil(share * queries) - 1)] ?? null),
    ...{ latenciesMs, maxBehindMs, valid: problems.length === 0, problems, reasons: [...reasons] },
  }
}
