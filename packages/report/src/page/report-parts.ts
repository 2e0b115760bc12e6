import { algorithmCaption, algorithmTable } from '../table/algorithm-table.js'
import { figure, type ReportTable, withoutEmptyColumns } from '../table/report-table.js'
import { headlineCaption, headlineTable, standingsCaption, standingsTable } from '../table/standings-table.js'
import { explanation, taskHeading, taskTable } from '../table/task-table.js'
import type { RunSummary } from '../verdict/run-summary.js'
import type { BoardContent, ReportContent, TaskContent, TaskRow } from './report-content.js'

/** A part of a report. The page, the Markdown file and the terminal show the same parts. */
export type ReportPart =
  | ReportSection
  | {
      readonly table: ReportTable
      readonly caption?: string
      /** For a task's table: the runs of each row, for links. */
      readonly rows?: readonly TaskRow[]
    }
  | { readonly chart: string }
  | { readonly list: readonly string[] }

export interface ReportSection {
  readonly heading: string
  readonly parts: readonly ReportPart[]
  /** Whether the section compares one algorithm with the best other ones. */
  readonly isStandings?: true
  /** The board that the section is about, for the page's filter. */
  readonly board?: string
  /** The task that the section is about, by its stem. The page shows such a section folded. */
  readonly stem?: string
}

export function reportParts(content: ReportContent): ReportSection[] {
  const { standings, boards, failures, madeBy, oracle } = content
  const runs = boards.flatMap(({ tasks }) => tasks.flatMap(({ rows }) => rows.map(({ summary }) => summary)))
  return [
    ...(standings
      ? [
          {
            heading: 'Against the best other algorithm of each task',
            isStandings: true as const,
            parts: [
              { table: withoutEmptyColumns(headlineTable(standings)), caption: headlineCaption },
              { table: withoutEmptyColumns(standingsTable(standings)), caption: standingsCaption(standings) },
            ],
          },
        ]
      : []),
    {
      heading: 'How the figures were obtained',
      parts: [
        {
          list: [
            ...explanation(runs),
            ...(oracle === undefined ? [] : [oracle]),
            'If several boards were run, figures are means. For 16 boards or more, intervals are 95 % confidence intervals by Student\u2019s t; for fewer, tables show the range.',
            ...madeBy.map((maker) => `Made by ${maker}.`),
          ],
        },
      ],
    },
    ...boards.map(boardSection),
    ...(failures.length > 0 ? [{ heading: 'Runs without a result', parts: [{ list: failures }] }] : []),
  ]
}

function boardSection({ board, algorithms, baseline, chart, tasks }: BoardContent): ReportSection {
  return {
    heading: board,
    board,
    parts: [
      { table: algorithmTable(algorithms, baseline), caption: algorithmCaption(baseline) },
      ...(chart ? [{ chart: matrixStem(board) }] : []),
      ...tasks.map(taskSection),
    ],
  }
}

/** Name of the chart of all tasks of a board, in files and in the page. */
function matrixStem(board: string): string {
  return `${board}_matrix`
}

function taskSection({ task: { stem, capsW }, oracle, rows }: TaskContent): ReportSection {
  const best = oracle === null ? '' : `, oracle ${oracle.toFixed(0)} images/s`
  const runs = rows.map(({ summary }) => summary)
  const remarks = runs.flatMap(remarksOn)
  return {
    heading: `${taskHeading(runs[0]!, `${capsW.join(' \u2192 ')} W`)}${best}`,
    stem,
    parts: [
      { table: withoutEmptyColumns(taskTable(runs, oracle)), rows },
      ...(remarks.length > 0 ? [{ list: remarks }] : []),
      { chart: stem },
    ],
  }
}

/** Reasons of verdicts other than `holds`, and notes of a run. */
function remarksOn({ algorithm, verdict, startUp, notes }: RunSummary): string[] {
  return [
    ...(verdict.status === 'holds' ? [] : [`${algorithm}: ${verdict.reason}`]),
    ...(startUp?.status === 'violates' ? [`${algorithm}, start-up: ${startUp.reason}`] : []),
    ...notes.map((note) => `${algorithm}: ${note}`),
  ]
}

/** All charts of a report, by their names. */
export function chartsOf({ boards }: ReportContent): Map<string, TaskContent['chart']> {
  return new Map(
    boards.flatMap(({ board, chart, tasks }) => [
      ...(chart ? [[matrixStem(board), chart] as const] : []),
      ...tasks.map(({ task, chart: ofTask }) => [task.stem, ofTask] as const),
    ]),
  )
}

/** One table of all tasks of all boards, for the CSV file. */
export function everyTaskTable({ boards }: ReportContent): ReportTable {
  const prefix = ['board', 'task', 'model', 'dataset', 'cap_w', 'oracle_images_per_s']
  const rows = boards.flatMap(({ tasks }) =>
    tasks.flatMap(({ task: { board, id, model, dataset, capsW }, oracle, rows: ofTask }) => {
      const runs = ofTask.map(({ summary }) => summary)
      const about = [board, `${id}`, model, dataset, capsW.join(' '), figure(oracle, 1)]
      return taskTable(runs, oracle).rows.map((row) => [...about, ...row])
    }),
  )
  return { head: [...prefix, ...taskTable([]).head], rows }
}
