import type { TopLevelSpec } from '@pctodl/report/charts'
import type { ChartStyle } from '../report/load-charts.js'
import { efficiencyOf } from './find-knee.js'
import { type Sweep, unitOf } from './sweep-board.js'

/** Charts samples per joule over the measured settings, and labels the best one. */
export function sweepChart(
  { over, best, points }: Sweep,
  board: string,
  { chartConfig, palette }: ChartStyle,
): TopLevelSpec {
  const values = [...points]
    .sort((a, b) => a.setting - b.setting)
    .map((point) => ({ setting: point.setting, samplesPerJoule: efficiencyOf(point), isBest: point === best }))
  return {
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
    title: {
      text: `${board}: most for a watt at ${unitOf(over, best.setting)}`,
      subtitle: `${points.length} measurements`,
    },
    config: chartConfig,
    data: { values },
    width: 560,
    height: 320,
    encoding: {
      x: {
        field: 'setting',
        type: 'quantitative',
        title: over === 'clocks' ? 'SM clock, MHz' : 'power limit, W',
        scale: { zero: false, nice: true },
      },
      y: { field: 'samplesPerJoule', type: 'quantitative', title: 'samples per joule', scale: { zero: false } },
    },
    layer: [
      { mark: { type: 'line', strokeWidth: 1.5, color: palette[0] } },
      { mark: { type: 'point', size: 60, filled: true, color: palette[0], opacity: 1 } },
      {
        transform: [{ filter: 'datum.isBest' }],
        mark: { type: 'point', size: 220, filled: false, strokeWidth: 2, color: palette[1] },
      },
    ],
  }
}
