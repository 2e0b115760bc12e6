import type { TopLevelSpec } from '@pctodl/charts'
import { comparisonChart } from '../chart/comparison-chart.js'
import { matrixChart } from '../chart/matrix-chart.js'
import { requestsChart } from '../chart/requests-chart.js'
import type { RunRecord } from '../record/run-record.js'
import { type AlgorithmAggregate, aggregateByAlgorithm, baselineOf } from '../verdict/algorithm-aggregate.js'
import { combineRepeatedRuns } from '../verdict/combine-runs.js'
import { groupBy } from '../verdict/group-by.js'
import { rankRuns } from '../verdict/ranking.js'
import type { RunSummary } from '../verdict/run-summary.js'
import { type Standings, standings } from '../verdict/standings.js'
import { costOfMillionImages, type ImageCost } from './cost.js'

/** What a report is made of. */
export interface ReportInput {
  /** In the order of the tables. */
  readonly runs: readonly ReportedRun[]
  /** What was tried and has no result. */
  readonly failures?: readonly FailedRun[]
  /** The line that no algorithm is expected to pass by much. */
  readonly oracle?: Oracle
}

/** One run of one algorithm on one task. */
export interface ReportedRun {
  readonly task: ReportedTask
  readonly summary: RunSummary
  /** Seed or number of the repetition: of several runs of one algorithm the lowest is drawn, figures are means over all. */
  readonly repetition: number
  /** The whole record of the run, read when it is drawn. */
  readonly record: () => RunRecord
  /** File of the whole record, which the page links to; absent where there is none. */
  readonly recordFile?: string
  /** What follows a playground's address to make the run there; absent where none can. */
  readonly playgroundFragment?: string
  /** What made the run, as a phrase after "Made by". */
  readonly madeBy: string
}

/** What runs are compared on. */
export interface ReportedTask {
  readonly board: string
  readonly id: number
  readonly model: string
  readonly dataset: string
  /** W, in the order in which they held; one for a cap that does not change. */
  readonly capsW: readonly number[]
  /** Says which task it is; names its chart's files and its place in the page. */
  readonly stem: string
}

export interface FailedRun {
  readonly task: Pick<ReportedTask, 'board' | 'id'>
  readonly algorithm: string
  readonly message: string
}

export interface Oracle {
  /** Throughput of the best static configuration, samples/s; null where it is not known. */
  readonly throughput: (task: ReportedTask) => number | null
  /** How it was found, in one sentence. */
  readonly explanation: string
}

/** Everything that a report shows, before it is set as a page, as Markdown or as CSV. */
export interface ReportContent {
  /** Pctodl against the best other algorithm of each task; absent where it or its rivals were not run. */
  readonly standings?: Standings
  readonly boards: readonly BoardContent[]
  readonly excluded: readonly { readonly what: string; readonly why: string }[]
  readonly madeBy: readonly string[]
  /** How the oracle was found; absent where there is none. */
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
  /** Records of its runs, in the order of the repetitions. */
  readonly recordFiles: readonly string[]
  /** Of the first of its runs that a playground can show: what follows the playground's address. */
  readonly playgroundFragment?: string
  readonly shareOfOracle: number | null
  readonly millionImages: ImageCost | null
}

/** Runs as what a report shows of them. @throws InvalidInputError for a record of another task than its run says */
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
  // So that runs of two algorithms pair by their seed.
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

/** Services have a section of their own for each board: they are compared by energy. */
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
export function chartOf(records: readonly RunRecord[]): TopLevelSpec {
  return records.some(({ requests }) => requests) ? requestsChart(records) : comparisonChart(records)
}

/** What no ratio contains, and why. */
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
