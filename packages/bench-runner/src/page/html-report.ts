import { compileChart, vegaForBrowsers } from '@pctodl/charts'
import { pageScript } from './page-script.js'
import { pageStyle } from './page-style.js'
import type { BoardContent, ReportContent, TaskContent } from './report-content.js'
import { algorithmTable, type ReportTable, taskTable } from './report-tables.js'
import { caption, explanation, taskHeading } from './report-words.js'

/** The report as one page that needs nothing else: works from disk, without a network. */
export async function htmlReport(content: ReportContent): Promise<string> {
  const charts: Record<string, object> = {}
  for (const board of content.boards) {
    if (board.chart) charts[`${board.board}_matrix`] = await compileChart(board.chart)
    for (const task of board.tasks) charts[task.stem] = await compileChart(task.chart)
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
<fieldset><legend>Runs</legend><label><input type="checkbox" name="violating" checked> those that break the cap</label></fieldset>
</form>
</header>
<main>
${content.boards.map((board) => boardSection(board, content)).join('\n')}
${content.excluded.length > 0 ? `<section><h2>Excluded</h2><ul>${content.excluded.map(({ what, why }) => `<li>${asHtml(what)}: ${asHtml(why)}</li>`).join('')}</ul></section>` : ''}
<section><h2>How the figures were obtained</h2><ul>${explanation(content)
    .map((line) => `<li>${asHtml(line)}</li>`)
    .join('')}</ul></section>
</main>
<script type="application/json" id="charts">${JSON.stringify(charts).replaceAll('<', '\\u003c')}</script>
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

function boardSection(board: BoardContent, content: ReportContent): string {
  const chart = board.chart ? figure(`${board.board}_matrix`, `Throughput of all tasks on ${board.board}`) : ''
  return `<section data-board="${asHtml(board.board)}">
<h2>${asHtml(board.board)}</h2>
${table(algorithmTable(board), caption(board))}
${chart}
${board.tasks.map((task) => taskSection(task, content)).join('\n')}
</section>`
}

function taskSection(task: TaskContent, content: ReportContent): string {
  const heading = taskHeading(task)
  return `<details class="task" id="${asHtml(task.stem)}">
<summary>${asHtml(heading)}</summary>
${table(taskTable(task.rows, content), heading)}
${figure(task.stem, heading)}
</details>`
}

function figure(name: string, label: string): string {
  return `<figure class="chart" data-chart="${asHtml(name)}" role="img" aria-label="${asHtml(label)}" tabindex="0"></figure>`
}

function table({ head, rows }: ReportTable, label: string): string {
  const cells = (row: readonly string[], tag: string) => row.map((cell) => `<${tag}>${asHtml(cell)}</${tag}>`).join('')
  const body = rows.map((row) => {
    const violates = row.at(-1) === 'violates' ? ' class="violates"' : ''
    return `<tr data-algorithm="${asHtml(row[0]!)}"${violates}>${cells(row, 'td')}</tr>`
  })
  return `<div class="scroll" tabindex="0" role="region" aria-label="${asHtml(label)}"><table><caption>${asHtml(label)}</caption><thead><tr>${cells(head, 'th')}</tr></thead><tbody>${body.join('')}</tbody></table></div>`
}

function asHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
