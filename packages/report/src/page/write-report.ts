import path from 'node:path'
import { jsonText, type Terminal, writeFileAtomically } from '@pctodl/command-line'
import type { Command } from 'commander'
import { renderPdf, renderPng, renderSvg } from '../charts.js'
import { tableAsCsv } from '../table/report-table.js'
import { htmlReport } from './html-report.js'
import { markdownReport } from './markdown-report.js'
import { type ReportContent, type ReportInput, reportContent } from './report-content.js'

/** Options shared by the commands that write a report. */
export interface RawReportOptions {
  readonly pictures?: boolean
  readonly json?: boolean
}

export function addReportOptions(command: Command): Command {
  return command
    .option('--pictures', 'also draw every chart as SVG, PNG and PDF')
    .option('--json', 'print the list of files as JSON')
}

/**
 * Writes a report as a command does: into `out`, and prints the paths of the files. Without `--json`, it prints only the
 * first three.
 *
 * @returns the exit code
 */
export async function writeReports(
  input: ReportInput,
  { out, json, ...options }: RawReportOptions & { readonly out: string; readonly playground?: string | undefined },
  { stdout, signal }: Terminal,
): Promise<number> {
  const files = await writeReport(reportContent(input), out, { ...options, signal })
  const more = files.length > 3 ? `and ${files.length - 3} more in ${out}\n` : ''
  stdout.write(json ? jsonText({ files }) : `${files.slice(0, 3).join('\n')}\n${more}`)
  return 0
}

export interface WriteReportOptions {
  /** Whether to also draw every chart as SVG, PNG and PDF. Default false. */
  readonly pictures?: boolean
  /** Address of a playground page, relative to the report. Default: no links to it. */
  readonly playground?: string | undefined
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
  const tables = Object.entries(content.tables).map(([name, table]) => [name, tableAsCsv(table)])
  const texts: Record<string, string> = {
    'index.html': await htmlReport(content, { folder, playground }),
    'report.md': markdownReport(content, { pictures }),
    ...Object.fromEntries(tables),
  }
  const files = Object.entries(texts).map(([name, text]) => written(path.join(folder, name), text))
  return pictures ? [...files, ...(await writeCharts(content, path.join(folder, 'charts'), signal))] : files
}

/** Width of the text of a two-column paper, cm. */
const PAGE_WIDTH_CM = 17.5

/**
 * Draws the charts of a report as SVG, PNG and PDF: one per task, and `<board>_matrix` for a board with several tasks.
 *
 * @returns the paths of the files
 */
export async function writeCharts(content: ReportContent, folder: string, signal?: AbortSignal): Promise<string[]> {
  const files: string[] = []
  for (const [name, chart] of content.charts) {
    signal?.throwIfAborted()
    const svg = await renderSvg(chart())
    const pictures = { svg, png: await renderPng(svg), pdf: await renderPdf(svg, PAGE_WIDTH_CM) }
    for (const [type, picture] of Object.entries(pictures)) {
      files.push(written(path.join(folder, `${name}.${type}`), picture))
    }
  }
  return files
}

function written(file: string, content: string | Uint8Array): string {
  writeFileAtomically(file, content)
  return file
}
