import type { TopLevelSpec } from '@pctodl/report/charts'
import type { Charts } from './optional-packages.js'

/** Prediction at one SM clock. */
type ClockPoint = Readonly<Record<'smClockMhz' | 'throughput' | 'throughputSd' | 'powerW' | 'powerSdW', number>>

/** Throughput and power over the SM clock, with a band of one standard deviation and a mark at the requested clock. */
export function clockChart(
  points: readonly ClockPoint[],
  { title, smClockMhz }: { readonly title: string; readonly smClockMhz: number },
  { chartConfig, palette }: Charts,
): TopLevelSpec {
  const panel = (field: 'throughput' | 'powerW', sd: 'throughputSd' | 'powerSdW', label: string, color: string) => ({
    width: 420,
    height: 280,
    transform: [
      { calculate: `datum.${field} - datum.${sd}`, as: 'low' },
      { calculate: `datum.${field} + datum.${sd}`, as: 'high' },
    ],
    layer: [
      {
        mark: { type: 'area' as const, color, opacity: 0.2 },
        encoding: {
          y: { field: 'low', type: 'quantitative' as const, title: label, scale: { zero: false } },
          y2: { field: 'high' },
        },
      },
      { mark: { type: 'line' as const, color }, encoding: { y: { field, type: 'quantitative' as const } } },
      {
        transform: [{ filter: `datum.smClockMhz === ${smClockMhz}` }],
        mark: { type: 'point' as const, color, filled: true, size: 80 },
        encoding: { y: { field, type: 'quantitative' as const } },
      },
    ],
    encoding: {
      x: { field: 'smClockMhz', type: 'quantitative' as const, title: 'SM clock, MHz', scale: { zero: false } },
    },
  })
  return {
    config: chartConfig,
    title: { text: title, subtitle: 'band: one standard deviation of the prediction' },
    data: { values: [...points] },
    hconcat: [
      panel('throughput', 'throughputSd', 'throughput, samples/s', palette[0]),
      panel('powerW', 'powerSdW', 'power, W', palette[4]),
    ],
  }
}
