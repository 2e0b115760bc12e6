import { UsageError, writeFileAtomically } from '@pctodl/command-line'
import type { chartConfig, TopLevelSpec } from '@pctodl/report/charts'
import type { KeptShareSource } from '../select/group-judge.js'

/**
 * Returns a heat map: the share of its throughput that the workload of a row retains beside the workload of a column.
 */
export function slowdownChart({ workloads, keptShares }: KeptShareSource, config: typeof chartConfig): TopLevelSpec {
  const names = workloads.map(({ name }) => name)
  const values = workloads.flatMap((own, i) =>
    workloads.map((other, j) => ({ own: own.name, other: other.name, kept: Math.round(100 * keptShares([i, j])[0]!) })),
  )
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
      {
        mark: 'rect',
        encoding: {
          color: {
            field: 'kept',
            type: 'quantitative',
            title: 'kept %',
            scale: { scheme: 'redyellowblue', domain: [0, 100], clamp: true },
          },
        },
      },
      {
        mark: { type: 'text', fontSize: 10 },
        encoding: {
          text: { field: 'kept', type: 'quantitative' },
          // White text on both ends of the colour scale, which are dark.
          color: { condition: { test: 'datum.kept > 88 || datum.kept < 15', value: 'white' }, value: 'black' },
        },
      },
    ],
  }
}

/**
 * Write the heat map of mutual slowdown as SVG or PNG, according to the file name.
 *
 * @throws UsageError if `@pctodl/report` is missing or the name has another ending
 */
export async function writeHeatMap(source: KeptShareSource, file: string): Promise<void> {
  if (!/\.(svg|png)$/.test(file))
    throw new UsageError(`--heat-map: got '${file}', expected a name that ends in .svg or .png`)
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
