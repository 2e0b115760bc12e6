import { InvalidInputError } from '@pctodl/platform'
import type { RunRecord } from '../record/run-record.js'

type TaskFields = Pick<RunRecord, 'board' | 'algorithm' | 'taskId' | 'model' | 'dataset'>

/**
 * Check that runs are comparable: of one task on one board, each by another algorithm.
 *
 * @throws InvalidInputError naming the run and what differs
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
