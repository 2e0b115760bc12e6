import { InvalidInputError, UnknownNameError } from '@pctodl/platform'
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
  const runs = new Map<string, Map<string, RunSummary>>()
  for (const summary of summaries) {
    const byTask = runs.get(summary.algorithm) ?? new Map<string, RunSummary>()
    runs.set(summary.algorithm, byTask)
    const task = taskKey(summary)
    if (byTask.has(task)) {
      const found = `two runs of ${summary.algorithm} on task ${summary.taskId} (${summary.board})`
      throw new InvalidInputError('summaries', found, 'one run of each algorithm per board and task')
    }
    byTask.set(task, summary)
  }
  const baselineRuns = runs.get(baseline)
  if (baselineRuns === undefined) throw new UnknownNameError('baseline algorithm', baseline, [...runs.keys()])

  return [...runs].map(([algorithm, byTask]) => {
    const pairs = [...byTask]
      .map(([task, run]) => ({ run, against: baselineRuns.get(task) }))
      .filter((pair): pair is Pair => holds(pair.run) && pair.against !== undefined && holds(pair.against))
    return {
      algorithm,
      tasksRun: byTask.size,
      violatingTasks: count(byTask, 'violates'),
      unknownTasks: count(byTask, 'unknown'),
      comparedTasks: pairs.length,
      throughputRatio: meanRatio(pairs.map(({ run, against }) => run.throughput / against.throughput)),
      energyPerSampleRatio: meanRatio(
        pairs.map(
          ({ run, against }) => (run.energyPerSampleJ ?? Number.NaN) / (against.energyPerSampleJ ?? Number.NaN),
        ),
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

interface Pair {
  readonly run: RunSummary
  readonly against: RunSummary
}

function holds(summary: RunSummary): boolean {
  return summary.verdict.status === 'holds'
}

function count(runs: ReadonlyMap<string, RunSummary>, status: RunSummary['verdict']['status']): number {
  return [...runs.values()].filter((run) => run.verdict.status === status).length
}

/**
 * Geometric mean. It is null if any ratio is not a positive number, as for a run that completed nothing, because a mean
 * over the others would hide that run.
 */
function meanRatio(ratios: readonly number[]): number | null {
  return ratios.length > 0 && ratios.every((ratio) => ratio > 0 && ratio < Infinity) ? geometricMean(ratios) : null
}
