import { comparisonChart } from '../chart/comparison-chart.js'
import { matrixChart } from '../chart/matrix-chart.js'
import { requestsChart } from '../chart/requests-chart.js'
import type { TopLevelSpec } from '../charts.js'
import type { RunRecord } from '../record/run-record.js'
import { type AlgorithmAggregate, aggregateByAlgorithm, baselineOf } from '../verdict/algorithm-aggregate.js'
import { combineRepeatedRuns } from '../verdict/combine-runs.js'
import { groupBy } from '../verdict/group-by.js'
import { rankRuns } from '../verdict/ranking.js'
import type { RunSummary } from '../verdict/run-summary.js'
import { type Standings, standings } from '../verdict/standings.js'
import { costOfMillionImages, type ImageCost } from './cost.js'

/** Input of a report. */
export interface ReportInput {
  /** In the order of the tables. */
  readonly runs: readonly ReportedRun[]
  /** Runs that failed and have no result. */
  readonly failures?: readonly FailedRun[]
  /** Reference line that no algorithm is expected to exceed by much. */
  readonly oracle?: Oracle
}

/** One run of one algorithm on one task. */
export interface ReportedRun {
  readonly task: ReportedTask
  readonly summary: RunSummary
  /**
   * Seed or number of the repetition. Of several runs of one algorithm, the lowest is drawn, and figures are means over
   * all.
   */
  readonly repetition: number
  /** The complete record of the run, read when it is drawn. */
  readonly record: () => RunRecord
  /** File of the complete record, which the page links to; absent if there is none. */
  readonly recordFile?: string
  /** URL fragment with which a playground repeats the run; absent if it cannot. */
  readonly playgroundFragment?: string
  /** Origin of the run, as a phrase after "Made by". */
  readonly madeBy: string
}

/** A task, in which runs are compared. */
export interface ReportedTask {
  readonly board: string
  readonly id: number
  readonly model: string
  readonly dataset: string
  /** Caps in the order in which they held, W; one if the cap is constant. */
  readonly capsW: readonly number[]
  /** Identifies the task; names its chart's files and its place in the page. */
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
  /** How it was found, in one sentence. */
  readonly explanation: string
}

/** Content of a report, before it becomes a page, Markdown or CSV. */
export interface ReportContent {
  /** pctodl against the best other algorithm of each task; absent if it or its rivals were not run. */
  readonly standings?: Standings
  readonly boards: readonly BoardContent[]
  readonly excluded: readonly { readonly what: string; readonly why: string }[]
  readonly madeBy: readonly string[]
  /** How the oracle was found; absent without one. */
  readonly oracle?: string
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
  readonly task: ReportedTask
  readonly oracle: number | null
  readonly rows: readonly TaskRow[]
  readonly chart: TopLevelSpec
}

export interface TaskRow {
  readonly summary: RunSummary
  /** Records of its runs, by repetition. */
  readonly recordFiles: readonly string[]
  /** URL fragment for the first of its runs that a playground can show. */
  readonly playgroundFragment?: string
  readonly shareOfOracle: number | null
  readonly millionImages: ImageCost | null
}

/** Convert runs to the content of a report. @throws InvalidInputError for a record of another task than its run says */
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
      ...(ofBoard.length > 1 ? { chart: matrixChart(summaries) } : {}),
    }
  })
  // Sorted so that the runs of two algorithms pair by seed.
  const paired = tasks.flatMap((ofTask) => [...ofTask].sort((a, b) => a.repetition - b.repetition))
  const headline = standings(paired.map(({ summary }) => summary))
  return {
    ...(headline ? { standings: headline } : {}),
    boards,
    excluded: excludedRuns(failures, boards),
    madeBy: [...new Set(runs.map(({ madeBy }) => madeBy))],
    ...(oracle ? { oracle: oracle.explanation } : {}),
  }
}

/** Services have a section of their own for each board, because they are compared by energy. */
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
        ...(playgroundFragment === undefined ? {} : { playgroundFragment }),
        recordFiles: own.flatMap(({ recordFile }) => recordFile ?? []),
        shareOfOracle: oracle === null ? null : summary.throughput / oracle,
        millionImages: summary.energyPerSampleJ === null ? null : costOfMillionImages(summary.energyPerSampleJ),
      }
    }),
    chart: chartOf(shown.map(({ record }) => record())),
  }
}

/** The runs of one task over time. */
function chartOf(records: readonly RunRecord[]): TopLevelSpec {
  return records.some(({ requests }) => requests) ? requestsChart(records) : comparisonChart(records)
}

/** Algorithms excluded from all ratios, and why. */
function excludedRuns(failures: readonly FailedRun[], boards: readonly BoardContent[]) {
  const failed = failures.map(({ task, algorithm, message }) => ({
    what: `task ${task.id} on ${task.board}, ${algorithm}`,
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
