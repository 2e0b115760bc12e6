import type { Clock } from '@pctodl/platform'
import { type LatencyQuantiles, quantilesOf } from './latency-report.js'
import type { QueryLog } from './query-log.js'

/** MLPerf inference's scenarios. */
export type Scenario = 'server' | 'offline' | 'single-stream' | 'multi-stream'

export interface LoadOptions {
  /** Real or virtual time. */
  readonly clock: Clock
  /** Ends the run: nothing is sent any more, and the call rejects with the signal's reason. */
  readonly signal?: AbortSignal
}

/** What a run of the load generator saw. Quantiles are exact, and of all queries: one without an answer took forever. */
export interface LoadResult extends LatencyQuantiles {
  readonly scenario: Scenario
  readonly queries: number
  readonly samples: number
  readonly completed: number
  readonly shed: number
  readonly failed: number
  /** From the first query to the last answer, ms. */
  readonly durationMs: number
  /** Samples/s that were answered. */
  readonly samplesPerS: number
  /** Of the queries that were answered, ms; null where none was. */
  readonly meanMs: number | null
  /** From due to answer, ms, ascending; Infinity for what got none. */
  readonly latenciesMs: Float64Array
  /** The longest that a query was sent after it was due, ms; latencies count from when it was due. */
  readonly maxBehindMs: number
  /** Whether the scenario's rules were kept; `problems` says which were not. */
  readonly valid: boolean
  readonly problems: readonly string[]
  /** Why queries failed: the first few different messages. */
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
