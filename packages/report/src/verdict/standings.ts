import { figureEstimate } from '@pctodl/numerics'
import { combineRepeatedRuns } from './combine-runs.js'
import { bestHoldingRun } from './ranking.js'
import type { RunSummary } from './run-summary.js'

/** One algorithm against the best of all others, task by task. */
export interface Standings {
  readonly subject: string
  readonly tasks: readonly TaskStanding[]
  readonly wins: number
  readonly ties: number
  readonly losses: number
  /** Geometric mean of the ratios of the tasks that have one; null where none has. */
  readonly throughputRatio: number | null
  /** Its 95 % interval over boards or seeds, where every task has the same number of several paired runs. */
  readonly interval95: readonly [number, number] | null
}

export interface TaskStanding {
  /** Of tasks; absent for the usual one. */
  readonly set?: string
  readonly board: string
  readonly taskId: number
  readonly model: string
  readonly dataset: string
  readonly capW: RunSummary['capW']
  /** Its runs of the task as one; null where it has none. */
  readonly own: RunSummary | null
  /** The fastest other algorithm that holds the cap; null where none does. */
  readonly rival: RunSummary | null
  /** Own throughput over the rival's; null where there is no rival, or where the algorithm does not hold the cap itself. */
  readonly ratio: number | null
  /** Ratios of runs paired in their order (the same board and seed), where both have the same number of them. */
  readonly pairedRatios: readonly number[]
  /** 95 % bootstrap interval of their geometric mean, where there are several. */
  readonly interval95: readonly [number, number] | null
  /** The same quotient by an algorithm that takes no thought, where both hold the cap; null where it was not run. */
  readonly overEqualSplit: number | null
  /** `open` where nobody holds the cap. */
  readonly outcome: 'win' | 'tie' | 'loss' | 'open'
}

/** Ratios this near to 1 are ties, and all whose interval contains 1. */
export const TIE_TOLERANCE = 0.005

/** The algorithm that the first table is about. */
const USUAL_SUBJECT = 'pctodl'

/** What everybody has without thinking; to be ahead of it is the least that an algorithm is worth. */
const WITHOUT_THOUGHT = 'equal-split'

/** Know the truth of the board that they run on: lines to measure by, which nobody competes with. */
export const notCompeting: readonly string[] = ['static-best']

/**
 * Set an algorithm against the best other one of each task that holds its cap. Another rival in each task is a harder
 * comparison than any single algorithm: who picks the best of them for every task has to be beaten. To break a cap, or to have
 * no result where others hold it, is to lose.
 *
 * @param summaries all runs; several of one algorithm and task in the same order (of seeds) for all, so that they pair
 * @returns undefined where the algorithm or its rivals were not run
 */
export function standings(summaries: readonly RunSummary[], subject: string = USUAL_SUBJECT): Standings | undefined {
  const competing = summaries.filter(({ algorithm }) => !notCompeting.includes(algorithm))
  const algorithms = new Set(competing.map(({ algorithm }) => algorithm))
  if (!algorithms.has(subject) || algorithms.size < 2) return undefined
  const byTask = new Map<string, RunSummary[]>()
  for (const summary of competing) {
    const key = JSON.stringify([summary.board, summary.taskId])
    byTask.set(key, [...(byTask.get(key) ?? []), summary])
  }
  const tasks = [...byTask.values()]
    .filter((runs) => runs.some(({ algorithm }) => algorithm !== subject))
    .map((runs) => standingOf(runs, subject))
  return { subject, tasks, ...tallyOf(tasks) }
}

/** Wins, ties, losses and the mean ratio of some tasks. */
export function tallyOf(tasks: readonly TaskStanding[]): Omit<Standings, 'subject' | 'tasks'> {
  const count = (outcome: TaskStanding['outcome']) => tasks.filter((task) => task.outcome === outcome).length
  const counted = tasks.filter(({ ratio }) => ratio !== null && ratio > 0)
  const runs = counted[0]?.pairedRatios.length ?? 0
  const paired = counted.every(({ pairedRatios }) => pairedRatios.length === runs)
  // The same boards meet all tasks, so whole boards are drawn, with all of their tasks.
  const estimate = paired ? figureEstimate(runs, (units) => geometricMean(counted, units)) : null
  const logs = counted.map(({ ratio }) => Math.log(ratio!))
  return {
    wins: count('win'),
    ties: count('tie'),
    losses: count('loss'),
    throughputRatio: logs.length === 0 ? null : Math.exp(mean(logs)),
    interval95: estimate && [estimate.low, estimate.high],
  }
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length

function geometricMean(tasks: readonly TaskStanding[], units: readonly number[]): number {
  return Math.exp(mean(tasks.map(({ pairedRatios }) => mean(units.map((unit) => Math.log(pairedRatios[unit]!))))))
}

function standingOf(runs: readonly RunSummary[], subject: string): TaskStanding {
  const { board, taskId, model, dataset, capW, set } = runs[0]!
  const combined = combineRepeatedRuns(runs)
  const own = combined.find(({ algorithm }) => algorithm === subject) ?? null
  const rival = bestHoldingRun(combined.filter(({ algorithm }) => algorithm !== subject)) ?? null
  const plain = combined.find(({ algorithm }) => algorithm === WITHOUT_THOUGHT)
  const task = { ...(set === undefined ? {} : { set }), board, taskId, model, dataset, capW, own, rival }
  const without = { ratio: null, pairedRatios: [], interval95: null, overEqualSplit: null }
  if (own?.verdict.status !== 'holds') return { ...task, ...without, outcome: rival === null ? 'open' : 'loss' }
  if (rival === null) return { ...task, ...without, outcome: 'win' }
  const ratio = own.throughput / rival.throughput
  const pairedRatios = ratiosOf(runs, subject, rival.algorithm)
  const estimate = figureEstimate(pairedRatios.length, (units) =>
    Math.exp(mean(units.map((unit) => Math.log(pairedRatios[unit]!)))),
  )
  const interval95 = estimate && ([estimate.low, estimate.high] as const)
  const overEqualSplit = plain?.verdict.status === 'holds' ? own.throughput / plain.throughput : null
  return { ...task, ratio, pairedRatios, interval95, overEqualSplit, outcome: outcomeOf(ratio, interval95) }
}

function outcomeOf(ratio: number, interval95: TaskStanding['interval95']): TaskStanding['outcome'] {
  const touches = interval95 !== null && interval95[0] <= 1 && interval95[1] >= 1
  if (touches || Math.abs(ratio - 1) <= TIE_TOLERANCE) return 'tie'
  return ratio > 1 ? 'win' : 'loss'
}

function ratiosOf(runs: readonly RunSummary[], own: string, rival: string): readonly number[] {
  const throughputs = (name: string) =>
    runs.filter(({ algorithm }) => algorithm === name).map(({ throughput }) => throughput)
  const [a, b] = [throughputs(own), throughputs(rival)]
  return a.length === b.length ? a.map((throughput, i) => throughput / b[i]!) : []
}
