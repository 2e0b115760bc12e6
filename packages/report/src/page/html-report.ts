import path from 'node:path'
import { compileChart, vegaForBrowsers } from '../draw/interactive-chart.js'
import type { ReportTable } from '../table/report-table.js'
import {
  headlineCaption,
  headlineTable,
  standingsCaption,
  standingsHeading,
  standingsTable,
} from '../table/standings-table.js'
import type { Standings } from '../verdict/standings.js'
import { inTheDark, pageScript } from './page-script.js'
import { pageStyle } from './page-style.js'
import type { BoardContent, ReportContent, TaskContent, TaskRow } from './report-content.js'
import { algorithmTable, taskTable } from './report-tables.js'
import { caption, explanation, taskHeading } from './report-words.js'

export interface HtmlReportOptions {
  /** Folder that will contain the page. Links to the records of runs are relative to it. Default: no links. */
  readonly folder?: string
  /**
   * Address of a playground page, relative to this page. Runs that the playground can repeat are linked to it. Default:
   * no links.
   */
  readonly playground?: string
}

/** Returns the report as one HTML page that works offline. */
export async function htmlReport(content: ReportContent, options: HtmlReportOptions = {}): Promise<string> {
  const charts: Record<string, object> = {}
  for (const board of content.boards) {
    if (board.chart) charts[`${board.board}_matrix`] = await compileChart(board.chart)
    for (const { task, chart } of board.tasks) charts[task.stem] = await compileChart(chart)
  }
  const algorithms = [...new Set(content.boards.flatMap((board) => board.algorithms.map(({ algorithm }) => algorithm)))]
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Power-capping algorithms compared</title>
<style>${pageStyle}</style>
</head>
<body>
<header>
<h1>Power-capping algorithms compared</h1>
<form id="filters" aria-label="Filters">
${choices(
  'Board',
  'board',
  content.boards.map(({ board }) => board),
)}
${choices('Algorithm', 'algorithm', algorithms)}
<fieldset><legend>Runs</legend><label><input type="checkbox" name="violating" checked> those that break the cap or are late</label></fieldset>
</form>
</header>
<main>
${content.standings ? standingsSection(content.standings) : ''}
${content.boards.map((board) => boardSection(board, options)).join('\n')}
${content.excluded.length > 0 ? `<section><h2>Excluded</h2><ul>${content.excluded.map(({ what, why }) => `<li>${asHtml(what)}: ${asHtml(why)}</li>`).join('')}</ul></section>` : ''}
<section><h2>How the figures were obtained</h2><ul>${explanation(content)
    .map((line) => `<li>${asHtml(line)}</li>`)
    .join('')}</ul></section>
</main>
<script type="application/json" id="charts">${JSON.stringify({ charts, algorithms, inTheDark }).replaceAll('<', '\\u003c')}</script>
<script>${vegaForBrowsers()}</script>
<script>${pageScript}</script>
</body>
</html>
`
}

function choices(legend: string, name: string, values: readonly string[]): string {
  const boxes = values.map(
    (value) =>
      `<label><input type="checkbox" name="${name}" value="${asHtml(value)}" checked> ${asHtml(value)}</label>`,
  )
  return `<fieldset><legend>${legend}</legend>${boxes.join(' ')}</fieldset>`
}

/**
 * The filter does not apply to this chart: its rows are tasks, and without an algorithm they would mean something else.
 */
function standingsSection(standings: Standings): string {
  return `<section id="standings">
<h2>${asHtml(standingsHeading)}</h2>
${table(headlineTable(standings), headlineCaption)}
${table(standingsTable(standings), standingsCaption(standings))}
</section>`
}

function boardSection(board: BoardContent, options: HtmlReportOptions): string {
  const chart = board.chart ? figure(`${board.board}_matrix`, `Throughput of all tasks on ${board.board}`) : ''
  return `<section data-board="${asHtml(board.board)}">
<h2>${asHtml(board.board)}</h2>
${table(algorithmTable(board), caption(board))}
${chart}
${board.tasks.map((task) => taskSection(task, options)).join('\n')}
</section>`
}

function taskSection(shown: TaskContent, options: HtmlReportOptions): string {
  const heading = taskHeading(shown)
  const { stem } = shown.task
  return `<details class="task" id="${asHtml(stem)}">
<summary>${asHtml(heading)}</summary>
${table(taskTable(shown.rows), heading, (i) => runLinks(shown.rows[i]!, options))}
${figure(stem, heading)}
</details>`
}

function figure(name: string, label: string): string {
  return `<figure class="chart" data-chart="${asHtml(name)}" role="img" aria-label="${asHtml(label)}" tabindex="0"></figure>`
}

/** Maximum number of links to records in a row of the table. */
const MAX_LINKS = 8

/** Links from a row of a table: to the records of its runs, and to a playground that repeats the first of them. */
function runLinks({ recordFiles, playgroundFragment }: TaskRow, { folder, playground }: HtmlReportOptions): string {
  const links = folder === undefined ? [] : recordLinks(recordFiles, folder)
  if (playground !== undefined && playgroundFragment !== undefined) {
    links.push(`<a href="${asHtml(playground + playgroundFragment)}">playground</a>`)
  }
  return links.length === 0 ? '' : ` <span class="records">${links.join(' ')}</span>`
}

function recordLinks(recordFiles: readonly string[], folder: string): string[] {
  return recordFiles.slice(0, MAX_LINKS).map((file, i) => {
    const target = path.relative(path.resolve(folder), path.resolve(file)).split(path.sep).map(encodeURIComponent)
    return `<a href="${asHtml(target.join('/').replaceAll('%2E', '.'))}">${recordFiles.length === 1 ? 'record' : i + 1}</a>`
  })
}

function table({ head, rows }: ReportTable, label: string, beside: (row: number) => string = () => ''): string {
  const ofAlgorithms = head[0] === 'algorithm'
  // Columns of words are aligned left, columns of figures right.
  const words = head.map((_, i) => rows.some((row) => /^[a-z]/i.test(row[i]!.replace(/^\d+ /, ''))))
  const cells = (row: readonly string[], tag: string, more = '') =>
    row
      .map((cell, i) => `<${tag}${words[i] ? ' class="words"' : ''}>${asHtml(cell)}${i === 0 ? more : ''}</${tag}>`)
      .join('')
  const body = rows.map((row, i) => {
    const violates = ['violates', 'misses latency'].includes(row.at(-1)!) ? ' class="violates"' : ''
    const filtered = ofAlgorithms ? ` data-algorithm="${asHtml(row[0]!)}"` : ''
    return `<tr${filtered}${violates}>${cells(row, 'td', beside(i))}</tr>`
  })
  return `<div class="scroll" tabindex="0" role="region" aria-label="${asHtml(label)}"><table><caption>${asHtml(label)}</caption><thead><tr>${cells(head, 'th')}</tr></thead><tbody>${body.join('')}</tbody></table></div>`
}

function asHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
