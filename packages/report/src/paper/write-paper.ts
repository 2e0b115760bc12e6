import path from 'node:path'
import { writeFileAtomically } from '@pctodl/command-line'
import { renderPdf, renderSvg, type TopLevelSpec } from '../charts.js'
import type { ReportContent } from '../page/report-content.js'
import { algorithmCaption, algorithmTable } from '../table/algorithm-table.js'
import type { ReportTable } from '../table/report-table.js'
import { headlineCaption, headlineTable, standingsCaption, standingsTable } from '../table/standings-table.js'
import { tableAsLatex } from './latex-table.js'
import { algorithmsFigure, paperWidthsCm, standingsFigure } from './paper-figures.js'

/**
 * Writes the figures of a paper (PDF, 8.5 and 17.5 cm wide) and its tables (LaTeX with booktabs) into a folder.
 *
 * @returns the paths of the files
 */
export async function writePaper(content: ReportContent, folder: string, signal?: AbortSignal): Promise<string[]> {
  const files: string[] = []
  const write = (name: string, text: string | Uint8Array) => {
    const file = path.join(folder, name)
    writeFileAtomically(file, text)
    files.push(file)
  }
  const table = (name: string, rows: ReportTable, caption: string) =>
    write(`${name}.tex`, tableAsLatex(rows, caption, `tab:${name}`))
  const figure = async (name: string, draw: (widthCm: number) => TopLevelSpec) => {
    for (const widthCm of paperWidthsCm) {
      signal?.throwIfAborted()
      write(`${name}-${widthCm}cm.pdf`, await renderPdf(await renderSvg(draw(widthCm)), widthCm))
    }
  }
  const { standings } = content
  if (standings) {
    table('headline', headlineTable(standings), headlineCaption)
    table('standings', standingsTable(standings), standingsCaption(standings))
    if (standings.tasks.some(({ ratio }) => ratio !== null)) {
      await figure('standings', (widthCm) => standingsFigure(standings, widthCm))
    }
  }
  for (const { board, algorithms, baseline } of content.boards) {
    const caption = `Algorithms on ${board}. ${algorithmCaption(baseline)}`
    table(`algorithms-${board}`, algorithmTable(algorithms, baseline), caption)
    await figure(`algorithms-${board}`, (widthCm) => algorithmsFigure(algorithms, baseline, widthCm))
  }
  return files
}
