import path from 'node:path'
import { writeFileAtomically } from '@pctodl/command-line'
import { renderPng, renderSvg } from '../charts.js'
import { tableAsCsv } from '../table/report-table.js'
import { headlineTable, standingsTable } from '../table/standings-table.js'
import { htmlReport } from './html-report.js'
import { markdownReport } from './markdown-report.js'
import type { ReportContent } from './report-content.js'
import { algorithmTable, everyTaskTable } from './report-tables.js'

export interface WriteReportOptions {
  /** Whether to also draw every chart as SVG and PNG. Default false. */
  readonly pictures?: boolean
  /** Address of a playground page, relative to the report. Default: no links to it. */
  readonly playground?: string
  /** Aborts before the next picture. Files that are already written stay. */
  readonly signal?: AbortSignal
}

/**
 * Writes a report into a folder: `index.html` (one page that works offline), `report.md`, `tasks.csv`, a table of
 * algorithms per board, and the charts if requested. With `standings`, also `standings.csv` and `headline.csv`.
 *
 * @returns the paths of the files
 */
export async function writeReport(
  content: ReportContent,
  folder: string,
  { pictures = false, playground, signal }: WriteReportOptions = {},
): Promise<string[]> {
  const files: string[] = []
  const write = (name: string, text: string | Uint8Array) => {
    const file = path.join(folder, name)
    writeFileAtomically(file, text)
    files.push(file)
  }
  write('index.html', await htmlReport(content, { folder, ...(playground === undefined ? {} : { playground }) }))
  write('report.md', markdownReport(content, { pictures }))
  if (content.standings) {
    write('standings.csv', tableAsCsv(standingsTable(content.standings)))
    write('headline.csv', tableAsCsv(headlineTable(content.standings)))
  }
  write('tasks.csv', tableAsCsv(everyTaskTable(content)))
  for (const board of content.boards) write(`${board.board}_algorithms.csv`, tableAsCsv(algorithmTable(board)))
  return pictures ? [...files, ...(await writeCharts(content, path.join(folder, 'charts'), signal))] : files
}

/**
 * Draws the charts of a report as SVG and PNG: one per task, and `<board>_matrix` for a board with several tasks.
 *
 * @returns the paths of the files
 */
export async function writeCharts(content: ReportContent, folder: string, signal?: AbortSignal): Promise<string[]> {
  const files: string[] = []
  for (const { board, chart, tasks } of content.boards) {
    const charts = [
      ...(chart ? [{ stem: `${board}_matrix`, chart }] : []),
      ...tasks.map(({ task, chart }) => ({ stem: task.stem, chart })),
    ]
    for (const { stem, chart } of charts) {
      signal?.throwIfAborted()
      const svg = await renderSvg(chart)
      for (const [extension, picture] of [['svg', svg] as const, ['png', await renderPng(svg)] as const]) {
        const file = path.join(folder, `${stem}.${extension}`)
        writeFileAtomically(file, picture)
        files.push(file)
      }
    }
  }
  return files
}
