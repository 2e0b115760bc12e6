import type { TopLevelSpec } from '@pctodl/charts'
import type { Cell } from '../cell.js'
import type { Manifest } from '../manifest.js'
import {
  type AlgorithmAggregate,
  aggregateByAlgorithm,
  combineRepeatedRuns,
  comparisonChart,
  matrixChart,
  type RunSummary,
  rankRuns,
} from '../report/index.js'
import type { FailedCell, ResultStore } from '../result-store.js'
import { type BenchTask, taskFileStem } from '../tasks.js'
import { type CostFactors, costOfMillionImages, type ImageCost } from './cost.js'
import type { OracleThroughput } from './reference-lines.js'

/** Everything that a report shows, before it is set as a page, as Markdown or as CSV. */
export interface ReportContent {
  readonly boards: readonly BoardContent[]
  readonly excluded: readonly { readonly what: string; readonly why: string }[]
  readonly madeBy: readonly string[]
  readonly factors: CostFactors
}

export interface BoardContent {
  readonly board: string
  readonly baseline: string
  readonly algorithms: readonly AlgorithmAggregate[]
  readonly tasks: readonly TaskContent[]
  /** The whole matrix of the board; absent for a single task. */
  readonly chart?: TopLevelSpec
}

export interface TaskContent {
  readonly stem: string
  readonly task: BenchTask
  readonly oracle: number | null
  readonly rows: readonly TaskRow[]
  readonly chart: TopLevelSpec
}

export interface TaskRow {
  readonly summary: RunSummary
  readonly shareOfOracle: number | null
  readonly millionImages: ImageCost | null
}

const BASELINE = 'powercap'

export function reportContent(
  store: ResultStore,
  oracle: (tasks: readonly BenchTask[]) => OracleThroughput,
  factors: CostFactors,
): ReportContent {
  const { manifests, failures } = store.readAll()
  const tasks = distinctTasks(manifests.map(({ cell }) => cell))
  // The oracle knows simulated boards only.
  const best = oracle(distinctTasks(manifests.filter(({ cell }) => !cell.real).map(({ cell }) => cell)))
  const boards = [...new Set(tasks.map(({ board }) => board))].map((board): BoardContent => {
    const ofBoard = manifests.filter(({ cell }) => cell.task.board === board)
    const summaries = combineRepeatedRuns(ofBoard.map(({ summary }) => summary))
    const baseline = summaries.some(({ algorithm }) => algorithm === BASELINE) ? BASELINE : summaries[0]!.algorithm
    const boardTasks = tasks.filter((task) => task.board === board)
    return {
      board,
      baseline,
      algorithms: aggregateByAlgorithm(summaries, baseline),
      tasks: boardTasks.map((task) => taskContent(task, ofBoard, store, oracleOf(best, task), factors)),
      ...(boardTasks.length > 1 ? { chart: matrixChart(summaries) } : {}),
    }
  })
  return {
    boards,
    excluded: excludedRuns(failures, boards),
    madeBy: [...new Set(manifests.map(describeMaker))],
    factors,
  }
}

/** By what a task is, not by which object it is: each manifest has read its own. */
function oracleOf(best: OracleThroughput, { board, id }: BenchTask): number | null {
  for (const [task, throughput] of best) if (task.board === board && task.id === id) return throughput
  return null
}

function taskContent(
  task: BenchTask,
  manifests: readonly Manifest[],
  store: ResultStore,
  oracle: number | null,
  factors: CostFactors,
): TaskContent {
  const ofTask = manifests.filter(({ cell }) => cell.task.id === task.id)
  const firstSeed = Math.min(...ofTask.map(({ cell }) => cell.seed))
  const shown = ofTask.filter(({ cell }) => cell.seed === firstSeed)
  const ranked = rankRuns(combineRepeatedRuns(ofTask.map(({ summary }) => summary)))
  return {
    stem: `${task.board}_${taskFileStem(task)}`,
    task,
    oracle,
    rows: ranked.map((summary) => ({
      summary,
      shareOfOracle: oracle === null ? null : summary.throughput / oracle,
      millionImages: summary.energyPerSampleJ === null ? null : costOfMillionImages(summary.energyPerSampleJ, factors),
    })),
    chart: comparisonChart(shown.map(({ cell }) => store.readRecord(cell))),
  }
}

/** What no ratio contains, and why. */
function excludedRuns(failures: readonly FailedCell[], boards: readonly BoardContent[]) {
  const failed = failures.map(({ cell, message }) => ({
    what: `task ${cell.task.id} on ${cell.task.board}, ${cell.algorithm}`,
    why: `has no result: ${message}`,
  }))
  const violating = boards.flatMap(({ board, tasks }) =>
    tasks.flatMap(({ task, rows }) =>
      rows
        .filter(({ summary }) => summary.verdict.status !== 'holds')
        .map(({ summary }) => ({
          what: `task ${task.id} on ${board}, ${summary.algorithm}`,
          why: `enters no ratio: ${summary.verdict.reason}`,
        })),
    ),
  )
  return [...failed, ...violating]
}

function distinctTasks(cells: readonly Cell[]): BenchTask[] {
  const tasks = new Map<string, BenchTask>()
  for (const { task } of cells) {
    const key = `${task.board}/${task.id}`
    if (!tasks.has(key)) tasks.set(key, task)
  }
  return [...tasks.values()]
}

function describeMaker({ madeBy, board, cell }: Manifest): string {
  const where = cell.real
    ? `${board.name} (${board.uuid}, driver ${board.driverVersion}; ${board.tenants})`
    : `the simulated ${board.name}`
  return `bench-runner ${madeBy.benchRunner} on ${where}, predictor parameters ${madeBy.predictorParameters.slice(0, 12)}`
}
