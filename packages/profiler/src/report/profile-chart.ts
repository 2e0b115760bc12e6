import type { TopLevelSpec } from '@pctodl/report/charts'
import type { ProfileRow } from '../measure/profile-row.js'
import type { ChartStyle } from './load-charts.js'

/**
 * Charts throughput against power: one point per row, and one panel per network. Shape and colour of a point show the
 * number of tenants.
 */
export function profileChart(
  rows: readonly ProfileRow[],
  board: string,
  { chartConfig, palette }: ChartStyle,
): TopLevelSpec {
  const points = rows
    .filter((row) => !row.failed && row.tenants.length > 0)
    .map((row) => ({
      network: networkOf(row),
      tenants: groupOf(row.tenants.length),
      smClockMhz: row.smClockMhz,
      powerW: row.powerAverageW,
      throughput: row.throughput,
    }))
  const networks = new Set(points.map((point) => point.network))
  const tenants = { field: 'tenants', type: 'nominal', title: 'tenants', sort: [...groups] } as const
  return {
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
    title: { text: `Profile of ${board}`, subtitle: `${points.length} measured configurations` },
    config: chartConfig,
    data: { values: points },
    facet: { field: 'network', type: 'nominal', title: null, header: { labelFontSize: 13 } },
    columns: Math.min(3, Math.max(1, networks.size)),
    spec: {
      width: networks.size === 1 ? 640 : 300,
      height: networks.size === 1 ? 400 : 220,
      mark: { type: 'point', size: 45, strokeWidth: 1.5, filled: false },
      encoding: {
        x: { field: 'powerW', type: 'quantitative', title: 'board power, W', scale: { zero: false, nice: true } },
        y: { field: 'throughput', type: 'quantitative', title: 'throughput, samples/s' },
        color: { ...tenants, scale: { domain: [...groups], range: [...palette.slice(0, groups.length)] } },
        shape: { ...tenants, scale: { domain: [...groups] } },
      },
    },
    resolve: { scale: { y: 'independent' } },
  }
}

const groups = ['1', '2', '3 to 4', '5 to 8', '9 or more'] as const

function groupOf(count: number): (typeof groups)[number] {
  if (count <= 2) return count === 1 ? '1' : '2'
  if (count <= 4) return '3 to 4'
  return count <= 8 ? '5 to 8' : '9 or more'
}

function networkOf({ tenants }: ProfileRow): string {
  const networks = new Set(tenants.map((tenant) => tenant.model))
  return networks.size === 1 ? [...networks][0]! : 'mixed'
}
