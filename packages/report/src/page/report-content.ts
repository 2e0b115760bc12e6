import { given, groupBy } from '@pctodl/platform'
import { comparisonChart } from '../chart/comparison-chart.js'
import { matrixChart } from '../chart/matrix-chart.js'
import type { TopLevelSpec } from '../charts.js'
import type { RunRecord } from '../record/run-record.js'
import { algorithmCaption, algorithmTable, baselineOf } from '../table/algorithm-table.js'
import { figure, type ReportTable, withoutEmptyColumns } from '../table/report-table.js'
import { headlineCaption, headlineTable, standingsCaption, standingsTable } from '../table/standings-table.js'
import { explanation, taskHeading, taskTable } from '../table/task-table.js'
import { combineRepeatedRuns } from '../verdict/combine-runs.js'
import { rankRuns } from '../verdict/ranking.js'
import type { RunSummary } from '../verdict/run-summary.js'
import { standings } from '../verdict/standings.js'

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

/** Content of a report. The page, the Markdown file, the CSV files and the terminal are renderings of it. */
export interface ReportContent {
  readonly sections: readonly ReportSection[]
  /** The charts by name, made when called: one for each task, and one of all tasks for a board with several. */
  readonly charts: ReadonlyMap<string, () => TopLevelSpec>
  /** The tables of the CSV files, with all columns, by the names of the files. */
  readonly tables: Readonly<Record<string, ReportTable>>
  /** Names of the algorithms, for the page's filter. */
  readonly algorithms: readonly string[]
}

export interface ReportSection {
  readonly heading: string
  readonly parts: readonly ReportPart[]
  /** The board that the section is about, for the page's filter. */
  readonly board?: string
  /** The task that the section is about, by its stem. The page shows such a section folded. */
  readonly stem?: string
  /** Whether the terminal leaves the section out, because another one already contains its figures. */
  readonly isRepetition?: boolean
}

export type ReportPart =
  | ReportSection
  | {
      readonly table: ReportTable
      readonly caption?: string
      /** For a task's table: the links of each row. */
      readonly links?: readonly RowLinks[]
    }
  /** A chart, by its name. */
  | { readonly chart: string }
  | { readonly list: readonly string[] }

export interface RowLinks {
  /** Files with the records of the runs in the row, by repetition. */
  readonly recordFiles: readonly string[]
  /** URL fragment of the first run in the row that a playground can repeat. */
  readonly playgroundFragment?: string
}

/** Converts runs to the content of a report. */
export function reportContent({ runs, failures = [], oracle }: ReportInput): ReportContent {
  const tasks = [...groupBy(runs, ({ task }) => task.stem).values()]
  const boards = [...groupBy(tasks, sectionOf)].map(([board, ofBoard]) => boardContent(board, ofBoard, oracle))
  const rows = boards.flatMap((board) => board.rows)
  // Runs are sorted by repetition, so that runs of two algorithms with the same seed are compared with each other.
  const paired = tasks.flatMap((ofTask) => [...ofTask].sort((a, b) => a.repetition - b.repetition))
  const compared = standings(paired.map(({ summary }) => summary))
  const standingsTables = compared
    ? [
        { name: 'headline.csv', table: headlineTable(compared), caption: headlineCaption },
        { name: 'standings.csv', table: standingsTable(compared), caption: standingsCaption(compared) },
      ]
    : []
  const lost = failures.map(
    ({ task, algorithm, message }) => `task ${task.id} on ${task.board}, ${algorithm}: has no result: ${message}`,
  )
  const ofOracle = boards.some((board) => board.hasOracle) ? oracle?.explanation : undefined
  const sections: ReportSection[] = [
    {
      heading: 'Against the best other algorithm of each task',
      // For single runs of one task, the task's own table already compares the algorithms.
      isRepetition: tasks.length === 1 && rows.every(({ runs }) => runs === undefined),
      parts: standingsTables.map(({ table, caption }) => ({ table: withoutEmptyColumns(table), caption })),
    },
    {
      heading: 'How the figures were obtained',
      parts: [
        {
          list: [...explanation(rows, ofOracle), ...new Set(runs.map(({ madeBy }) => `Made by ${madeBy}.`))],
        },
      ],
    },
    ...boards.map(({ section }) => section),
    { heading: 'Runs without a result', parts: lost.length > 0 ? [{ list: lost }] : [] },
  ]
  return {
    sections: sections.filter(({ parts }) => parts.length > 0),
    charts: new Map(boards.flatMap(({ charts }) => charts)),
    tables: {
      ...Object.fromEntries(standingsTables.map(({ name, table }) => [name, table])),
      'tasks.csv': { head: [...taskColumns, ...taskTable([]).head], rows: boards.flatMap(({ cells }) => cells) },
      ...Object.fromEntries(boards.map(({ section, table }) => [`${section.board}_algorithms.csv`, table])),
    },
    algorithms: [...new Set(boards.flatMap((board) => board.algorithms))],
  }
}

/** Tasks with services have their own section for each board, because they are compared by energy. */
function sectionOf(ofTask: readonly ReportedRun[]): string {
  const { board } = ofTask[0]!.task
  return ofTask.some(({ summary }) => summary.requests) ? `${board}-services` : board
}

type NamedChart = readonly [name: string, chart: () => TopLevelSpec]

function boardContent(board: string, ofBoard: readonly (readonly ReportedRun[])[], oracle: Oracle | undefined) {
  const summaries = combineRepeatedRuns(ofBoard.flat().map(({ summary }) => summary))
  const baseline = baselineOf(summaries)
  const table = algorithmTable(summaries, baseline)
  const tasks = ofBoard.map((ofTask) => taskContent(ofTask, oracle?.throughput(ofTask[0]!.task) ?? null))
  const matrix: NamedChart[] = ofBoard.length > 1 ? [[`${board}_matrix`, () => matrixChart(summaries)]] : []
  const section: ReportSection = {
    heading: board,
    board,
    parts: [
      { table, caption: algorithmCaption(baseline) },
      ...matrix.map(([chart]) => ({ chart })),
      ...tasks.map((task) => task.section),
    ],
  }
  return {
    section,
    table,
    algorithms: table.rows.map(([algorithm]) => algorithm!),
    hasOracle: tasks.some(({ oracle }) => oracle !== null),
    rows: tasks.flatMap(({ rows }) => rows),
    cells: tasks.flatMap(({ cells }) => cells),
    charts: [...matrix, ...tasks.map(({ chart }) => chart)],
  }
}

/** Columns of the table of all tasks, before those of a task's table. */
const taskColumns = ['board', 'task', 'model', 'dataset', 'cap_w', 'oracle_images_per_s']

function taskContent(ofTask: readonly ReportedRun[], oracle: number | null) {
  const { board, id, model, dataset, capsW, stem } = ofTask[0]!.task
  const rows = rankRuns(combineRepeatedRuns(ofTask.map(({ summary }) => summary)))
  const table = taskTable(rows, oracle)
  const byRow = rows.map(({ algorithm }) =>
    ofTask.filter(({ summary }) => summary.algorithm === algorithm).sort((a, b) => a.repetition - b.repetition),
  )
  const links = byRow.map((own): RowLinks => {
    const playgroundFragment = own.flatMap((run) => run.playgroundFragment ?? [])[0]
    return { ...given({ playgroundFragment }), recordFiles: own.flatMap(({ recordFile }) => recordFile ?? []) }
  })
  const remarks = rows.flatMap(remarksOn)
  const best = oracle === null ? '' : `, oracle ${oracle.toFixed(0)} images/s`
  const section: ReportSection = {
    heading: `${taskHeading(rows[0]!, `${capsW.join(' \u2192 ')} W`)}${best}`,
    stem,
    parts: [
      { table: withoutEmptyColumns(table), links },
      ...(remarks.length > 0 ? [{ list: remarks }] : []),
      { chart: stem },
    ],
  }
  const about = [board, `${id}`, model, dataset, capsW.join(' '), figure(oracle, 1)]
  const chart: NamedChart = [stem, () => comparisonChart(byRow.map((own) => own[0]!.record()))]
  return { section, rows, oracle, cells: table.rows.map((row) => [...about, ...row]), chart }
}

/** Reasons of verdicts other than `holds`, and notes of a run. */
function remarksOn({ algorithm, verdict, startUp, notes }: RunSummary): string[] {
  return [
    ...(verdict.status === 'holds' ? [] : [`${algorithm}: ${verdict.reason}`]),
    ...(startUp?.status === 'violates' ? [`${algorithm}, start-up: ${startUp.reason}`] : []),
    ...notes.map((note) => `${algorithm}: ${note}`),
  ]
}
