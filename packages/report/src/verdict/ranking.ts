import { merit, type RunSummary } from './run-summary.js'

const order = { holds: 0, unknown: 1, violates: 2 } as const

/** Runs that keep the cap first, then those that could not be judged, then those that break it; best first in each. */
export function rankRuns(summaries: readonly RunSummary[]): RunSummary[] {
  return [...summaries].sort((a, b) => order[a.verdict.status] - order[b.verdict.status] || merit(b) - merit(a))
}

/** The best run that keeps the cap; undefined where none does. */
export function bestHoldingRun(summaries: readonly RunSummary[]): RunSummary | undefined {
  const best = rankRuns(summaries)[0]
  return best?.verdict.status === 'holds' ? best : undefined
}
