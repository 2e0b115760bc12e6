import { ALARM_COLOR, INK } from '../charts.js'
import {
  type ChartedRun,
  type ChartPanel,
  dodgeLabels,
  panelTitle,
  roundUp,
  sideText,
  type TimeAxis,
} from './chart-parts.js'

const HEIGHT = 270
const LABEL_GAP = 19

/**
 * Draws the throughput of each measuring window over time, one labelled line per algorithm. Windows with restarts are
 * hollow points. Runs that break the cap are faint, because their throughput is not comparable.
 */
export function throughputPanel(runs: readonly ChartedRun[], width: number, time: TimeAxis): ChartPanel {
  const windows = runs.flatMap(({ run }) =>
    run.windows.map((window) => ({
      algorithm: run.algorithm,
      t: (window.startMs + window.endMs) / 2 / time.msPerUnit,
      throughput: window.throughput,
      reconfigured: window.reconfigured,
    })),
  )
  const top = roundUp(Math.max(...windows.map((window) => window.throughput), 0))
  const algorithms = runs.map(({ run }) => run.algorithm)
  const color = {
    field: 'algorithm',
    type: 'nominal' as const,
    scale: { domain: algorithms, range: runs.map((run) => run.color) },
    legend: null,
  }
  const x = {
    field: 't',
    type: 'quantitative' as const,
    scale: { domain: [0, time.length], nice: false },
    axis: { title: `time, ${time.unit}`, tickCount: 10 },
  }
  const y = {
    field: 'throughput',
    type: 'quantitative' as const,
    scale: { domain: [0, top], nice: false },
    axis: { title: null, tickCount: 6, minExtent: 44, format: ',~r' },
  }
  const opacity = {
    condition: {
      test: { field: 'algorithm', oneOf: runs.filter(violates).map(({ run }) => run.algorithm) },
      value: 0.45,
    },
    value: 1,
  }
  const hollow = windows.filter((window) => window.reconfigured)
  const legend = hollow.length > 0 ? '; hollow points: windows in which tenants restarted' : ''
  return {
    width,
    height: HEIGHT,
    title: panelTitle(`Throughput per window, samples/s (right: mean of the whole run${legend})`),
    layer: [
      {
        data: { values: windows },
        mark: { type: 'line' as const, strokeWidth: 1.8, clip: true },
        encoding: { x, y, color, opacity },
      },
      {
        data: { values: hollow },
        mark: { type: 'point' as const, filled: false, fill: '#ffffff', size: 26, strokeWidth: 1.3, clip: true },
        encoding: { x, y, color, opacity: { value: 1 } },
      },
      ...endLabels(runs, width, top),
    ],
  }
}

function violates({ summary }: ChartedRun): boolean {
  return summary.verdict.status === 'violates'
}

function endLabels(runs: readonly ChartedRun[], width: number, top: number) {
  const ends = runs.map(({ run }) => HEIGHT * (1 - (run.windows.at(-1)?.throughput ?? 0) / top))
  const places = dodgeLabels(ends, LABEL_GAP, HEIGHT)
  return [
    {
      data: {
        values: runs.map(({ color, run }, i) => ({ algorithm: run.algorithm, color, from: ends[i], to: places[i] })),
      },
      mark: { type: 'rule' as const, strokeWidth: 1.8 },
      encoding: {
        x: { value: width + 2 },
        x2: { value: width + 24 },
        y: { field: 'from', type: 'quantitative' as const, scale: null },
        y2: { field: 'to' },
        color: { field: 'color', type: 'nominal' as const, scale: null },
      },
    },
    sideText(
      runs.map((run, i) => ({
        algorithm: run.run.algorithm,
        text: `${run.run.algorithm} ${run.summary.throughput.toFixed(0)}/s${violates(run) ? ' VIOLATES' : ''}`,
        y: places[i]!,
        size: 12.5,
        bold: false,
        ink: violates(run) ? ALARM_COLOR : INK,
      })),
      width + 30,
    ),
  ]
}
