import { chartConfig, INK, palette, renderSvg, type TopLevelSpec } from '@pctodl/report/charts'
import { type Comparison, errorOf, type Point, summarise } from './comparison.js'

/** Rows of a comparison that are told one by one, the worst first. */
const WORST_ROWS = 5

/** One page that needs nothing else: the table of all comparisons, and for each a plot and its worst rows. */
export async function validationPage(
  comparisons: readonly Comparison[],
  table: { readonly head: readonly string[]; readonly rows: readonly (readonly string[])[] },
  notes: readonly string[],
): Promise<string> {
  const sections: string[] = []
  for (const [i, comparison] of comparisons.entries()) sections.push(await section(comparison, i))
  const cells = (row: readonly string[], tag: string) => row.map((cell) => `<${tag}>${asHtml(cell)}</${tag}>`).join('')
  const rows = table.rows.map((row, i) => {
    const [first = '', ...others] = row
    return `<tr><td><a href="#c${i}">${asHtml(first)}</a></td>${cells(others, 'td')}</tr>`
  })
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>The simulated boards against measurements</title>
<style>
body { font: 15px/1.45 system-ui, sans-serif; color: ${INK}; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; }
table { border-collapse: collapse; font-size: 13px; } th, td { text-align: left; padding: 0.2rem 0.6rem; border-bottom: 1px solid #ddd; }
.scroll { overflow-x: auto; } .both { display: flex; flex-wrap: wrap; gap: 1.5rem; } svg { max-width: 100%; height: auto; }
</style>
</head>
<body>
<h1>The simulated boards against measurements</h1>
${notes.map((note) => `<p>${asHtml(note)}</p>`).join('\n')}
<div class="scroll"><table><thead><tr>${cells(table.head, 'th')}</tr></thead><tbody>${rows.join('\n')}</tbody></table></div>
${sections.join('\n')}
</body>
</html>
`
}

async function section(comparison: Comparison, index: number): Promise<string> {
  const { table, board, quantity, known, points } = comparison
  const { n, median, p90 } = summarise(comparison)
  const unit = comparison.errors === 'relative' ? ' %' : ' points'
  const heading = `${table}, ${board}: ${quantity}`
  const worst = points
    .map((point) => ({ point, error: errorOf(comparison, point.simulated, point) }))
    .sort((a, b) => Math.abs(b.error) - Math.abs(a.error))
    .slice(0, WORST_ROWS)
    .map(({ point, error }) => {
      const values = [point.label, point.measured.toPrecision(3), point.simulated.toPrecision(3)]
      return `<tr>${[...values, `${error.toFixed(1)}${unit}`].map((cell) => `<td>${asHtml(cell)}</td>`).join('')}</tr>`
    })
  return `<section id="c${index}">
<h2>${asHtml(heading)}</h2>
<p>${n} values, median error ${median.toFixed(1)}${unit}, nine of ten within ${p90.toFixed(1)}${unit}. Known beforehand: ${asHtml(known ?? 'nothing')}.</p>
<div class="both">
<figure role="img" aria-label="${asHtml(`${heading}: simulated over measured`)}">${await renderSvg(scatter(comparison))}</figure>
<div><h3>Worst rows</h3><table><thead><tr><th>row</th><th>measured</th><th>simulated</th><th>error</th></tr></thead><tbody>${worst.join('')}</tbody></table></div>
</div>
</section>`
}

/** Simulated over measured, with the line on which both agree; logarithmic where errors are relative and values positive. */
function scatter({ points, errors, quantity }: Comparison): TopLevelSpec {
  const values = points.flatMap(({ measured, simulated }) => [measured, simulated])
  const [low, high] = [Math.min(...values), Math.max(...values)]
  const logarithmic = errors === 'relative' && low > 0 && high > 3 * low
  const room = logarithmic ? 0 : 0.05 * (high - low || 1)
  const domain = logarithmic ? [low / 1.1, high * 1.1] : [low - room, high + room]
  const scale = logarithmic
    ? { type: 'log' as const, domain, nice: false }
    : { type: 'linear' as const, domain, nice: false, zero: false }
  const axis = (field: string, title: string) => {
    return { field, type: 'quantitative' as const, title, scale, axis: { tickCount: 5 } }
  }
  return {
    config: chartConfig,
    title: { text: quantity, fontSize: 13 },
    width: 300,
    height: 300,
    layer: [
      {
        data: { values: domain.map((value) => ({ measured: value, simulated: value })) },
        mark: { type: 'line', color: '#999999', strokeDash: [4, 3] },
        encoding: { x: axis('measured', 'measured'), y: axis('simulated', 'simulated') },
      },
      {
        data: { values: points.map(({ measured, simulated }: Point) => ({ measured, simulated })) },
        mark: { type: 'circle', size: 22, opacity: 0.5, color: palette[0], clip: true },
        encoding: { x: axis('measured', 'measured'), y: axis('simulated', 'simulated') },
      },
    ],
  }
}

function asHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
