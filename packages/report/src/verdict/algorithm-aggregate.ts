import { groupBy, InvalidInputError, UnknownNameError } from '@pctodl/platform'
import { holds } from './ranking.js'
import { type RunSummary, taskKey } from './run-summary.js'
import { geometricMean } from './spread.js'

/** Results of one algorithm over many tasks, compared with a baseline. */
export interface AlgorithmAggregate {
  readonly algorithm: string
  readonly tasksRun: number
  /** Number of tasks on which the algorithm broke the cap. */
  readonly violatingTasks: number
  /** Number of tasks without a verdict on power. */
  readonly unknownTasks: number
  /**
   * Number of tasks on which both this algorithm and the baseline held the cap. The ratios are over these tasks only.
   */
  readonly comparedTasks: number
  /**
   * Geometric mean, over the compared tasks, of throughput divided by the baseline's; null if there is no such task.
   */
  readonly throughputRatio: number | null
  /**
   * Geometric mean, over the compared tasks, of energy per sample divided by the baseline's; null if there is no such
   * task.
   */
  readonly energyPerSampleRatio: number | null
}

/**
 * Compares algorithms with a baseline over the tasks of one or more boards. Means of ratios are geometric, so that
 * swapping algorithm and baseline gives the reciprocal. Runs that break the cap are excluded from ratios.
 *
 * @throws UnknownNameError if the baseline has no run
 * @throws InvalidInputError if an algorithm has two runs of one task on one board
 */
export function aggregateByAlgorithm(summaries: readonly RunSummary[], baseline: string): AlgorithmAggregate[] {
  const keyOf = (algorithm: string, run: RunSummary) => `${algorithm} ${taskKey(run)}`
  const runs = new Map<string, RunSummary>()
  for (const run of summaries) {
    const key = keyOf(run.algorithm, run)
    if (runs.has(key)) {
      const found = `two runs of ${run.algorithm} on task ${run.taskId} (${run.board})`
      throw new InvalidInputError('summaries', found, 'one run of each algorithm per board and task')
    }
    runs.set(key, run)
  }
  const algorithms = groupBy(summaries, ({ algorithm }) => algorithm)
  if (!algorithms.has(baseline)) throw new UnknownNameError('baseline algorithm', baseline, [...algorithms.keys()])
  return [...algorithms].map(([algorithm, own]) => {
    const count = (status: RunSummary['verdict']['status']) =>
      own.filter(({ verdict }) => verdict.status === status).length
    const pairs = own.flatMap((run) => {
      const against = runs.get(keyOf(baseline, run))
      return holds(run) && holds(against) ? [{ run, against }] : []
    })
    return {
      algorithm,
      tasksRun: own.length,
      violatingTasks: count('violates'),
      unknownTasks: count('unknown'),
      comparedTasks: pairs.length,
      throughputRatio: meanRatio(pairs.map(({ run, against }) => run.throughput / against.throughput)),
      energyPerSampleRatio: meanRatio(
        pairs.map(({ run, against }) => (run.energyPerSampleJ ?? NaN) / (against.energyPerSampleJ ?? NaN)),
      ),
    }
  })
}

/**
 * Algorithms that can be the baseline, in order of preference: a plan with one step of feedback, then algorithms
 * without a plan.
 */
const usualBaselines = ['plan-limit-step', 'fixed-clock', 'equal-shares', 'equal-split', 'powercap-tuned', 'powercap']

/** Returns the baseline of a table: the most preferred one that was run, otherwise the first algorithm. */
export function baselineOf(summaries: readonly RunSummary[]): string {
  const usual = usualBaselines.find((name) => summaries.some(({ algorithm }) => algorithm === name))
  return usual ?? summaries[0]!.algorithm
}

/**
 * Geometric mean. It is null if any ratio is not a positive number, as for a run that completed nothing, because a mean
 * over the others would hide that run.
 */
function meanRatio(ratios: readonly number[]): number | null {
  return ratios.length > 0 && ratios.every((ratio) => ratio > 0 && ratio < Infinity) ? geometricMean(ratios) : null
}
