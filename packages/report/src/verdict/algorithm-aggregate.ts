import { InvalidInputError, UnknownNameError } from '@pctodl/platform'
import { type RunSummary, taskKey } from './run-summary.js'
import { geometricMean } from './spread.js'

/** One algorithm over many tasks, compared with a baseline. */
export interface AlgorithmAggregate {
  readonly algorithm: string
  readonly tasksRun: number
  /** Tasks on which the algorithm broke the cap. */
  readonly violatingTasks: number
  /** Tasks whose power could not be judged. */
  readonly unknownTasks: number
  /** Tasks on which both this algorithm and the baseline held the cap; only these enter the ratios. */
  readonly comparedTasks: number
  /** Geometric mean over the compared tasks of throughput over the baseline's; null if there is none. */
  readonly throughputRatio: number | null
  /** The same of the energy per sample. */
  readonly energyPerSampleRatio: number | null
}

/**
 * Compare algorithms with a baseline over the tasks of one or more boards. Ratios are averaged geometrically, so that
 * swapping algorithm and baseline gives the reciprocal. A run that breaks the cap enters no ratio.
 *
 * @throws UnknownNameError where no run is of the baseline
 * @throws InvalidInputError where an algorithm has two runs of one task on one board
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
 * Usual baselines; the first one that was run is used: a plan with one step of feedback, then algorithms without a
 * plan.
 */
const usualBaselines = ['plan-limit-step', 'fixed-clock', 'equal-shares', 'equal-split', 'powercap-tuned', 'powercap']

/** The baseline of a table: a usual one if it was run, else the first algorithm. */
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

/** Null if any ratio is not a positive number (a run that completed nothing), instead of a mean over the rest. */
function meanRatio(ratios: readonly number[]): number | null {
  return ratios.length > 0 && ratios.every((ratio) => ratio > 0 && ratio < Infinity) ? geometricMean(ratios) : null
}
