import { given, groupBy } from '@pctodl/platform'
import { comparisonChart } from '../chart/comparison-chart.js'
import { matrixChart } from '../chart/matrix-chart.js'
import type { TopLevelSpec } from '../charts.js'
import type { RunRecord } from '../record/run-record.js'
import { type AlgorithmAggregate, aggregateByAlgorithm, baselineOf } from '../verdict/algorithm-aggregate.js'
import { combineRepeatedRuns } from '../verdict/combine-runs.js'
import { rankRuns } from '../verdict/ranking.js'
import type { RunSummary } from '../verdict/run-summary.js'
import { type Standings, standings } from '../verdict/standings.js'

/** Input of a report. */
export interface ReportInput {
  /** Runs in the order of the tables. */
  readonly runs: readonly ReportedRun[]
  /** Runs that failed and therefore have no result. */
  readonly failures?: readonly FailedRun[]
  /** Reference throughput for each task: the throughput of the best static configuration. */
  readonly oracle?: Oracle
}

/** One run of one algorithm on one task. */
export interface ReportedRun {
  readonly task: ReportedTask
  readonly summary: RunSummary
  /**
   * Seed or number of the repetition. If an algorithm has several runs of a task, charts show the one with the lowest
   * number, and figures are means over all of them.
   */
  readonly repetition: number
  /** Returns the complete record of the run. It is called only when the run is drawn. */
  readonly record: () => RunRecord
  /** File with the complete record, for a link from the page; absent if there is none. */
  readonly recordFile?: string
  /** URL fragment with which a playground repeats the run; absent if it cannot repeat it. */
  readonly playgroundFragment?: string
  /** Origin of the run, as a phrase after the words "Made by". */
  readonly madeBy: string
}

/** A task: a mix of networks, data and caps on which algorithms are compared. */
export interface ReportedTask {
  readonly board: string
  readonly id: number
  readonly model: string
  readonly dataset: string
  /** Caps in order of time, W; a constant cap is one entry. */
  readonly capsW: readonly number[]
  /** Identifies the task in file names of charts and in links within the page. */
  readonly stem: string
}

export interface FailedRun {
  readonly task: Pick<ReportedTask, 'board' | 'id'>
  readonly algorithm: string
  readonly message: string
}

export interface Oracle {
  /** Throughput of the best static configuration, samples/s; null if unknown. */
  readonly throughput: (task: ReportedTask) => number | null
  /** How the oracle's throughput was found, in one sentence. */
  readonly explanation: string
}

/** Content of a report, independent of its format (page, Markdown, CSV or text). */
export interface ReportContent {
  /**
   * pctodl compared with the best other algorithm of each task; absent if there are no runs of pctodl or none of
   * others.
   */
  readonly standings?: Standings
  readonly boards: readonly BoardContent[]
  /** Runs without a result, with reasons. */
  readonly failures: readonly string[]
  readonly madeBy: readonly string[]
  /** How the oracle's throughput was found; absent without an oracle. */
  readonly oracle?: string
}

export interface BoardContent {
  readonly board: string
  readonly baseline: string
  readonly algorithms: readonly AlgorithmAggregate[]
  readonly tasks: readonly TaskContent[]
  /** Returns the chart of all tasks of the board; absent if there is only one task. */
  readonly chart?: () => TopLevelSpec
}

export interface TaskContent {
  readonly task: ReportedTask
  readonly oracle: number | null
  readonly rows: readonly TaskRow[]
  /**
   * Returns the chart of the task.
   *
   * @throws InvalidInputError if a record belongs to another task than its run
   */
  readonly chart: () => TopLevelSpec
}

export interface TaskRow {
  readonly summary: RunSummary
  /** Files with the records of the runs in the row, by repetition. */
  readonly recordFiles: readonly string[]
  /** URL fragment of the first run in the row that a playground can repeat. */
  readonly playgroundFragment?: string
}

/** Converts runs to the content of a report. */
export function reportContent({ runs, failures = [], oracle }: ReportInput): ReportContent {
  const tasks = [...groupBy(runs, ({ task }) => task.stem).values()]
  const boards = [...groupBy(tasks, sectionOf)].map(([board, ofBoard]): BoardContent => {
    const summaries = combineRepeatedRuns(ofBoard.flat().map(({ summary }) => summary))
    const baseline = baselineOf(summaries)
    return {
      board,
      baseline,
      algorithms: aggregateByAlgorithm(summaries, baseline),
      tasks: ofBoard.map((ofTask) => taskContent(ofTask, oracle?.throughput(ofTask[0]!.task) ?? null)),
      ...(ofBoard.length > 1 ? { chart: () => matrixChart(summaries) } : {}),
    }
  })
  // Runs are sorted by repetition, so that runs of two algorithms with the same seed are compared with each other.
  const paired = tasks.flatMap((ofTask) => [...ofTask].sort((a, b) => a.repetition - b.repetition))
  const headline = standings(paired.map(({ summary }) => summary))
  return {
    ...(headline ? { standings: headline } : {}),
    boards,
    failures: failures.map(
      ({ task, algorithm, message }) => `task ${task.id} on ${task.board}, ${algorithm}: has no result: ${message}`,
    ),
    madeBy: [...new Set(runs.map(({ madeBy }) => madeBy))],
    ...(oracle ? { oracle: oracle.explanation } : {}),
  }
}

/** Tasks with services have their own section for each board, because they are compared by energy. */
function sectionOf(ofTask: readonly ReportedRun[]): string {
  const { board } = ofTask[0]!.task
  return ofTask.some(({ summary }) => summary.requests) ? `${board}-services` : board
}

function taskContent(ofTask: readonly ReportedRun[], oracle: number | null): TaskContent {
  const first = Math.min(...ofTask.map(({ repetition }) => repetition))
  const shown = ofTask.filter(({ repetition }) => repetition === first)
  const ranked = rankRuns(combineRepeatedRuns(ofTask.map(({ summary }) => summary)))
  return {
    task: ofTask[0]!.task,
    oracle,
    rows: ranked.map((summary) => {
      const own = ofTask.filter((run) => run.summary.algorithm === summary.algorithm)
      const playgroundFragment = own.flatMap((run) => run.playgroundFragment ?? [])[0]
      return {
        summary,
        ...given({ playgroundFragment }),
        recordFiles: own.flatMap(({ recordFile }) => recordFile ?? []),
      }
    }),
    chart: () => comparisonChart(shown.map(({ record }) => record())),
  }
}
