import { InvalidInputError } from '@pctodl/platform'
import type { RunRecord } from '../record/run-record.js'
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

type TaskFields = Pick<RunRecord, 'board' | 'algorithm' | 'taskId' | 'model' | 'dataset'>

/**
 * Checks that runs are comparable: they belong to one task on one board, and to different algorithms.
 *
 * @throws InvalidInputError with the run and the difference
 */
export function assertOneTask(field: string, runs: readonly TaskFields[]): void {
  runs.forEach((run, i) => {
    const first = runs[0]!
    for (const key of ['board', 'taskId', 'model', 'dataset'] as const) {
      if (run[key] !== first[key]) {
        throw new InvalidInputError(`${field}[${i}].${key}`, run[key], `${first[key]}, as in the first run`)
      }
    }
    if (runs.findIndex((other) => other.algorithm === run.algorithm) !== i) {
      throw new InvalidInputError(`${field}[${i}].algorithm`, run.algorithm, 'one run of each algorithm')
    }
  })
}
