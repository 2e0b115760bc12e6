import { UsageError, writeFileAtomically } from '@pctodl/command-line'
import type { chartConfig, TopLevelSpec } from '@pctodl/report/charts'
import type { KeptShareSource } from '../select/group-judge.js'

/** A heat map: the share of its throughput that the workload of a row retains beside the workload of a column. */
export function slowdownChart({ workloads, keptShares }: KeptShareSource, config: typeof chartConfig): TopLevelSpec {
  const names = workloads.map(({ name }) => name)
  const values = names.flatMap((own, i) =>
    names.map((other, j) => ({ own, other, kept: Math.round(100 * keptShares([i, j])[0]!) })),
  )
  const kept = { field: 'kept', type: 'quantitative' } as const
  const scale = { scheme: 'redyellowblue' as const, domain: [0, 100], clamp: true }
  // Text is white where the colour is dark: at both ends of the scale.
  const textColor = { condition: { test: 'datum.kept > 88 || datum.kept < 15', value: 'white' }, value: 'black' }
  return {
    config,
    title: 'Throughput kept, percent of alone',
    data: { values },
    width: { step: 34 },
    height: { step: 22 },
    encoding: {
      x: { field: 'other', type: 'nominal', sort: names, title: 'beside', axis: { labelAngle: -60, labelLimit: 300 } },
      y: { field: 'own', type: 'nominal', sort: names, title: 'workload', axis: { labelLimit: 300 } },
    },
    layer: [
      { mark: 'rect', encoding: { color: { ...kept, title: 'kept %', scale } } },
      { mark: { type: 'text', fontSize: 10 }, encoding: { text: kept, color: textColor } },
    ],
  }
}

/**
 * Write the heat map of mutual slowdown as SVG or PNG, according to the file name.
 *
 * @throws UsageError if `@pctodl/report` is missing or the name has another ending
 */
export async function writeHeatMap(source: KeptShareSource, file: string): Promise<void> {
  const expected = 'expected a name that ends in .svg or .png'
  if (!/\.(svg|png)$/.test(file)) throw new UsageError(`--heat-map: got '${file}', ${expected}`)
  const { chartConfig, renderPng, renderSvg } = await loadCharts()
  const svg = await renderSvg(slowdownChart(source, chartConfig))
  writeFileAtomically(file, file.endsWith('.svg') ? svg : await renderPng(svg))
}

async function loadCharts(): Promise<typeof import('@pctodl/report/charts')> {
  try {
    return await import('@pctodl/report/charts')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new UsageError('--heat-map needs @pctodl/report: npm install @pctodl/report')
  }
}
