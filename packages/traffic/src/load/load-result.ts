import type { Clock } from '@pctodl/platform'
import { type LatencyQuantiles, quantilesOf } from './latency-report.js'
import type { QueryLog } from './query-log.js'

/** MLPerf inference's scenarios. */
export type Scenario = 'server' | 'offline' | 'single-stream' | 'multi-stream'

export interface LoadOptions {
  /** Real or virtual time. */
  readonly clock: Clock
  /** Aborts the run: no more queries are sent, and the call rejects with the signal's reason. */
  readonly signal?: AbortSignal
}

/**
 * Result of a run of the load generator. Quantiles are exact and include all queries; a query that was not answered
 * counts as infinite latency.
 */
export interface LoadResult extends LatencyQuantiles {
  readonly scenario: Scenario
  readonly queries: number
  readonly samples: number
  readonly completed: number
  readonly shed: number
  readonly failed: number
  /** Time from the first query to the last answer, ms. */
  readonly durationMs: number
  /** Throughput of answered samples, samples/s. */
  readonly samplesPerS: number
  /** Mean latency of answered queries, ms; null if there are none. */
  readonly meanMs: number | null
  /** Latencies from due time to answer, ms, ascending; Infinity for unanswered queries. */
  readonly latenciesMs: Float64Array
  /** Longest delay between the time when a query was due and its sending, ms. Latencies include this delay. */
  readonly maxBehindMs: number
  /** Whether the run met the scenario's rules. `problems` says which it broke. */
  readonly valid: boolean
  readonly problems: readonly string[]
  /** Messages of failed queries: the first few different ones. */
  readonly reasons: readonly string[]
}

export function loadResult(
  scenario: Scenario,
  log: QueryLog,
  startMs: number,
  samplesPerQuery: number,
  problemsOf: (result: Omit<LoadResult, 'valid' | 'problems'>) => readonly string[],
): LoadResult {
  const latenciesMs = log.latenciesMs()
  const queries = latenciesMs.length
  const durationMs = log.lastAnswerMs - startMs
  let sumMs = 0
  for (let i = 0; i < log.completed; i++) sumMs += latenciesMs[i]!
  const result = {
    scenario,
    queries,
    samples: queries * samplesPerQuery,
    completed: log.completed,
    shed: log.shed,
    failed: log.failed,
    durationMs,
    samplesPerS: durationMs > 0 ? (1000 * log.completed * samplesPerQuery) / durationMs : 0,
    meanMs: log.completed === 0 ? null : sumMs / log.completed,
    ...quantilesOf((share) =>
      queries === 0 ? null : latenciesMs[Math.min(queries - 1, Math.max(0, Math.ceil(share * queries) - 1))]!,
    ),
    latenciesMs,
    maxBehindMs: log.maxBehindMs,
    reasons: log.reasons,
  }
  const problems = [...problemsOf(result)]
  const unanswered = result.shed + result.failed
  if (unanswered > 0 && scenario !== 'server') problems.push(`${unanswered} of ${queries} queries got no answer`)
  return { ...result, valid: problems.length === 0, problems }
}
