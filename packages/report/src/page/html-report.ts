import path from 'node:path'
import { compileChart, vegaForBrowsers } from '../draw/interactive-chart.js'
import type { ReportTable } from '../table/report-table.js'
import { isViolating } from '../table/task-table.js'
import { inTheDark, pageScript } from './page-script.js'
import { pageStyle } from './page-style.js'
import type { ReportContent, ReportPart, RowLinks } from './report-content.js'

export interface HtmlReportOptions {
  /** Folder that will contain the page. Links to the records of runs are relative to it. */
  readonly folder: string
  /**
   * Address of a playground page, relative to this page. Runs that the playground can repeat are linked to it. Default:
   * no links.
   */
  readonly playground?: string | undefined
}

/** Returns the report as one HTML page that works offline. */
export async function htmlReport(content: ReportContent, options: HtmlReportOptions): Promise<string> {
  const charts: Record<string, object> = {}
  for (const [name, chart] of content.charts) charts[name] = await compileChart(chart())
  const { sections, algorithms } = content
  const data = JSON.stringify({ charts, algorithms, inTheDark }).replaceAll('<', '\\u003c')
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
  sections.flatMap(({ board }) => board ?? []),
)}
${choices('Algorithm', 'algorithm', algorithms)}
<fieldset><legend>Runs</legend><label><input type="checkbox" name="violating" checked> those that break the cap or are late</label></fieldset>
</form>
</header>
<main>
${sections.map((section) => partAsHtml(section, options)).join('\n')}
</main>
<script type="application/json" id="charts">${data}</script>
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

/** @param label heading of the section that contains the part, for screen readers */
function partAsHtml(part: ReportPart, options: HtmlReportOptions, label = ''): string {
  if ('heading' in part) {
    const heading = asHtml(part.heading)
    const inner = part.parts.map((each) => partAsHtml(each, options, heading)).join('\n')
    if (part.stem !== undefined) {
      return `<details class="task" id="${asHtml(part.stem)}">\n<summary>${heading}</summary>\n${inner}\n</details>`
    }
    const board = part.board === undefined ? '' : ` data-board="${asHtml(part.board)}"`
    return `<section${board}>\n<h2>${heading}</h2>\n${inner}\n</section>`
  }
  if ('list' in part) return `<ul>${part.list.map((line) => `<li>${asHtml(line)}</li>`).join('')}</ul>`
  if ('chart' in part) {
    return `<figure class="chart" data-chart="${asHtml(part.chart)}" role="img" aria-label="${label}" tabindex="0"></figure>`
  }
  const links = (row: number) => (part.links ? runLinks(part.links[row]!, options) : '')
  const caption = part.caption === undefined ? '' : `<caption>${asHtml(part.caption)}</caption>`
  return `<div class="scroll" tabindex="0" role="region" aria-label="${label}"><table>${caption}${tableRows(part.table, links)}</table></div>`
}

/** Maximum number of links to records in a row of the table. */
const MAX_LINKS = 8

/** Links from a row of a table: to the records of its runs, and to a playground that repeats the first of them. */
function runLinks({ recordFiles, playgroundFragment }: RowLinks, { folder, playground }: HtmlReportOptions): string {
  const links = recordFiles.slice(0, MAX_LINKS).map((file, i) => {
    const target = path.relative(path.resolve(folder), path.resolve(file)).split(path.sep).map(encodeURIComponent)
    return `<a href="${asHtml(target.join('/').replaceAll('%2E', '.'))}">${recordFiles.length === 1 ? 'record' : i + 1}</a>`
  })
  if (playground !== undefined && playgroundFragment !== undefined) {
    links.push(`<a href="${asHtml(playground + playgroundFragment)}">playground</a>`)
  }
  return links.length === 0 ? '' : ` <span class="records">${links.join(' ')}</span>`
}

/**
 * Head and body of a table. The page's filter acts on the rows of tables whose first column is the algorithm. In other
 * tables, each row compares algorithms.
 */
function tableRows({ head, rows }: ReportTable, beside: (row: number) => string): string {
  // Columns of words are aligned left, columns of figures right.
  const words = head.map((_, i) => rows.some((row) => /^[a-z]/i.test(row[i]!.replace(/^\d+ /, ''))))
  const cells = (row: readonly string[], tag: string, more = '') =>
    row
      .map((cell, i) => `<${tag}${words[i] ? ' class="words"' : ''}>${asHtml(cell)}${i === 0 ? more : ''}</${tag}>`)
      .join('')
  const body = rows.map((row, i) => {
    const filtered = head[0] === 'algorithm' ? ` data-algorithm="${asHtml(row[0]!)}"` : ''
    return `<tr${filtered}${isViolating(row) ? ' class="violates"' : ''}>${cells(row, 'td', beside(i))}</tr>`
  })
  return `<thead><tr>${cells(head, 'th')}</tr></thead><tbody>${body.join('')}</tbody>`
}

function asHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
