import type { chartConfig, TopLevelSpec } from '@pctodl/charts'
import type { SlowdownTable } from '../model/slowdown-table.js'

/** How much of its throughput alone the workload of a row keeps beside that of a column, as a heat map. */
export function slowdownChart(table: SlowdownTable, config: typeof chartConfig): TopLevelSpec {
  const { workloads } = table
  const names = workloads.map(({ name }) => name)
  const values = workloads.flatMap((own, i) =>
    workloads.map((other, j) => ({ own: own.name, other: other.name, kept: Math.round(100 * table.keptBeside(i, j)) })),
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
          // Both ends of the scale are dark.
          color: { condition: { test: 'datum.kept > 88 || datum.kept < 15', value: 'white' }, value: 'black' },
        },
      },
    ],
  }
}
