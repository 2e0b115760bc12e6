import { merit, type RunSummary } from './run-summary.js'

const order = { holds: 0, unknown: 1, violates: 2 } as const

/**
 * Sorts runs into three groups: those that hold the cap, those without a verdict, and those that break the cap. In each
 * group, the best run is first.
 */
export function rankRuns(summaries: readonly RunSummary[]): RunSummary[] {
  return [...summaries].sort((a, b) => order[a.verdict.status] - order[b.verdict.status] || merit(b) - merit(a))
}

export function holds(run: RunSummary | undefined): run is RunSummary {
  return run?.verdict.status === 'holds'
}
