import { UsageError, writeFileAtomically } from '@pctodl/command-line'
import type { SlowdownTable } from '../model/slowdown-table.js'
import { slowdownChart } from './slowdown-chart.js'

/**
 * Draw the heat map of a table of slowdowns, as SVG or PNG by the file's name.
 *
 * @throws UsageError where the charts package is absent or the name ends otherwise
 */
export async function writeHeatMap(table: SlowdownTable, file: string): Promise<void> {
  if (!/\.(svg|png)$/.test(file))
    throw new UsageError(`--heat-map: got '${file}', expected a name that ends in .svg or .png`)
  const { chartConfig, renderPng, renderSvg } = await loadCharts()
  const svg = await renderSvg(slowdownChart(table, chartConfig))
  writeFileAtomically(file, file.endsWith('.svg') ? svg : await renderPng(svg))
}

async function loadCharts(): Promise<typeof import('@pctodl/charts')> {
  try {
    return await import('@pctodl/charts')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new UsageError('--heat-map needs @pctodl/charts: npm install @pctodl/charts')
  }
}
