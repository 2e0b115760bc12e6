import { writeFileAtomically } from '@pctodl/command-line'
import { renderPng, renderSvg } from '../charts.js'

/**
 * Draw a chart as `<stem>.svg` and `<stem>.png`.
 *
 * @returns the files
 */
export async function writeChart(stem: string, chart: Parameters<typeof renderSvg>[0]): Promise<string[]> {
  const svg = await renderSvg(chart)
  writeFileAtomically(`${stem}.svg`, svg)
  writeFileAtomically(`${stem}.png`, await renderPng(svg))
  return [`${stem}.svg`, `${stem}.png`]
}
