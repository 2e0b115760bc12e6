import type { TopLevelSpec } from '@pctodl/report/charts'
import type { RowPrediction } from '../fit/fit-report.js'
import type { Charts } from './optional-packages.js'

/** Maximum number of points in a chart: more would overlap and make the file large. */
const MAX_POINTS = 3000
/** Candidate limits of the error axis, percent. The first one that covers nearly all points is used. */
const axisEnds = [5, 10, 20, 30, 50]
const NEARLY_ALL = 0.99

/** Chart of a fit's relative errors over the measured value: one panel for throughput, one for power. */
export function residualChart(
  predictions: readonly RowPrediction[],
  { board, heldOut }: { readonly board: string; readonly heldOut: boolean },
  { chartConfig, palette }: Charts,
): TopLevelSpec {
  const every = Math.ceil(predictions.length / MAX_POINTS)
  const shown = predictions.filter((_, i) => i % every === 0)
  const points = shown.map(({ row, throughput, powerW }) => {
    const networks = [...new Set(row.tenants.map((tenant) => tenant.model))]
    return {
      network: networks.length === 1 ? networks[0] : 'several',
      throughput: row.throughput,
      throughputError: 100 * (throughput / row.throughput - 1),
      power: row.powerAverageW,
      powerError: 100 * (powerW / row.powerAverageW - 1),
    }
  })
  const within = (end: number) =>
    points.filter((point) => Math.abs(point.throughputError) <= end && Math.abs(point.powerError) <= end).length
  const axisEnd = axisEnds.find((end) => within(end) >= NEARLY_ALL * points.length) ?? axisEnds.at(-1)!
  const panel = (x: 'throughput' | 'power', title: string, log: boolean) => ({
    width: 420,
    height: 320,
    layer: [
      { data: { values: [{}] }, mark: { type: 'rule' as const, color: '#999999' }, encoding: { y: { datum: 0 } } },
      {
        mark: { type: 'circle' as const, size: 16, opacity: 0.5, clip: true },
        encoding: {
          x: {
            field: x,
            type: 'quantitative' as const,
            title,
            scale: log ? { type: 'log' as const } : { zero: false },
          },
          y: {
            field: `${x}Error`,
            type: 'quantitative' as const,
            title: 'predicted - measured, %',
            scale: { domain: [-axisEnd, axisEnd] },
          },
          color: { field: 'network', type: 'nominal' as const, scale: { range: [...palette, '#222222'] } },
        },
      },
    ],
  })
  return {
    config: chartConfig,
    title: {
      text: `Residuals of the fit of ${board}`,
      subtitle: `${shown.length} of ${predictions.length} rows, ${heldOut ? 'each predicted without its group' : 'in sample'}; ${points.length - within(axisEnd)} beyond ${axisEnd} %`,
    },
    data: { values: points },
    hconcat: [panel('throughput', 'measured throughput, samples/s', true), panel('power', 'measured power, W', false)],
  }
}
