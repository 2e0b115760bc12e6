import { ALARM_COLOR, INK } from '../charts.js'
import { FAINT_INK } from '../draw/chart-style.js'
import { movingAverageW } from '../evaluate/moving-average.js'
import { EXCESS_TOLERANCE } from '../evaluate/power-metrics.js'
import { type PowerSignal, powerSignal } from '../evaluate/power-signal.js'
import { latencyText } from '../table/latency-text.js'
import { figure } from '../table/report-table.js'
import type { RunSummary } from '../verdict/run-summary.js'
import {
  type ChartedRun,
  type ChartLayer,
  type ChartPanel,
  nominal,
  panelTitle,
  quantity,
  type TimeAxis,
  textMark,
  thinCurve,
  timeEncoding,
} from './chart-parts.js'

const HEIGHT = 96
const ONE_SECOND_MS = 1000

/** Minimum width of a stretch for a label of its cap, px. */
const MIN_LABEL_WIDTH = 70

/** Properties that are equal for all strips of one chart. */
export interface StripFrame {
  readonly width: number
  readonly time: TimeAxis
  /** Range of the power axis, W. Curves are cut at its lower edge. */
  readonly rangeW: readonly [number, number]
}

/**
 * Draws the power of one algorithm and the cap over time, with verdict and figures beside them. Each algorithm has its
 * own strip, because curves just below the same cap would overlap in one plot. All strips have the same axes.
 */
export function powerStrip(
  { run, summary, color }: ChartedRun,
  { width, time, rangeW }: StripFrame,
  heading: string | null,
): ChartPanel {
  const signal = powerSignal(run.power, summary.powerSource)
  const bucketMs = Math.max(1, (2 * time.length * time.msPerUnit) / width)
  const curve: { t: number; powerW: number | null; excessW: number | null; levelW: number }[] = []
  let step = 0
  thinCurve(signal.knotsMs.subarray(1), movingAverageW(signal, ONE_SECOND_MS), bucketMs, (timeMs, watts) => {
    while (signal.knotsMs[step + 1]! < timeMs) step++
    const levelW = signal.capW[step]! * (1 + EXCESS_TOLERANCE)
    const powerW = Number.isNaN(watts) ? null : tidy(watts)
    const excessW = powerW === null ? null : Math.max(powerW, levelW)
    curve.push({ t: tidy(timeMs / time.msPerUnit), powerW, excessW, levelW })
  })
  const cap = capStretches(signal, time, width)
  const x = timeEncoding(time, false)
  const yScale = { domain: [...rangeW], nice: false, zero: false }
  const y = (field: string) => quantity(field, { scale: yScale, axis: { title: null, tickCount: 4, minExtent: 44 } })
  return {
    width,
    height: HEIGHT,
    ...(heading === null ? {} : { title: panelTitle(heading) }),
    layer: [
      {
        data: { values: curve },
        mark: { type: 'area', clip: true, color, opacity: 0.16 },
        encoding: { x, y: { ...y('powerW'), stack: null }, y2: { datum: rangeW[0] } },
      },
      {
        data: { values: cap },
        mark: { type: 'rule', color: '#000000', strokeWidth: 2.4, strokeDash: [7, 4] },
        encoding: { x: { ...x, field: 'from' }, x2: { field: 'to' }, y: y('capW') },
      },
      {
        data: { values: curve },
        mark: { type: 'area', clip: true, color: ALARM_COLOR, opacity: 0.85 },
        encoding: { x, y: { ...y('excessW'), stack: null }, y2: { field: 'levelW' } },
      },
      {
        data: { values: curve },
        mark: { type: 'line', clip: true, color, strokeWidth: 1.4 },
        encoding: { x, y: y('powerW') },
      },
      {
        data: { values: heading === null ? [] : cap },
        mark: textMark({ dx: 7, dy: -10, fontSize: 12, fontWeight: 'bold', color: '#000000' }),
        encoding: { x: { ...x, field: 'from' }, y: y('capW'), text: nominal('label', {}) },
      },
      ...stripCaption(summary, color, width),
    ],
  }
}

/** The stretches of constant cap, with their positions on the time axis, and labels where there is room for them. */
function capStretches({ steps, knotsMs, capW }: PowerSignal, { length, msPerUnit }: TimeAxis, width: number) {
  const starts = [...capW.subarray(0, steps).keys()].filter((i) => capW[i] !== capW[i - 1])
  return starts.map((start, i) => {
    const from = knotsMs[start]! / msPerUnit
    const to = knotsMs[starts[i + 1] ?? steps]! / msPerUnit
    const label = ((to - from) / length) * width > MIN_LABEL_WIDTH ? `cap ${tidy(capW[start]!)} W` : ''
    return { from, to, capW: capW[start]!, label }
  })
}

/** Rounds to three decimals, which is finer than a pixel. Fewer digits make a smaller file. */
function tidy(value: number): number {
  return Math.round(value * 1000) / 1000
}

/** Name, verdict and figures of a run, to the right of its strip. A bar in the run's colour replaces a legend. */
function stripCaption(summary: RunSummary, color: string, width: number): ChartLayer[] {
  const { algorithm, verdict, timeAboveCapPercent, latency, powerSource, throughput } = summary
  const violates = verdict.status === 'violates'
  const broken = { cap: 'VIOLATES the cap', latency: 'MISSES its latency', 'cap and latency': 'VIOLATES cap, latency' }
  const words = { holds: 'holds the cap', violates: broken[verdict.breaks ?? 'cap'], unknown: 'power not known' }
  const above = timeAboveCapPercent === null ? '' : `, above it ${timeAboveCapPercent.toFixed(1)} %`
  const p99 = latency?.length ? `, p99 ${latencyText(latency)} ms` : ''
  const source = powerSource === 'true' ? '' : ' (sensor)'
  const faint = { size: 12, bold: false, ink: FAINT_INK }
  const lines = [
    { text: algorithm, size: 14, bold: true, ink: INK },
    { text: `${words[verdict.status]}${above}`, size: 12.5, bold: violates, ink: violates ? ALARM_COLOR : INK },
    { text: `${throughput.toFixed(0)}/s${p99}`, ...faint },
    { text: `mean ${figure(summary.meanPowerW, 1)}, peak ${figure(summary.peakPowerW, 1)} W${source}`, ...faint },
  ]
  return [
    {
      data: { values: [{}] },
      mark: { type: 'rect', color },
      encoding: { x: { value: width + 14 }, x2: { value: width + 20 }, y: { value: 0 }, y2: { value: HEIGHT } },
    },
    {
      data: { values: lines.map((line, i) => ({ ...line, y: 14 + 23 * i })) },
      mark: textMark({ fontWeight: { expr: "datum.bold ? 'bold' : 'normal'" } }),
      encoding: {
        x: { value: width + 30 },
        y: quantity('y', { scale: null }),
        text: nominal('text', {}),
        size: quantity('size', { scale: null }),
        color: nominal('ink', { scale: null }),
      },
    },
  ]
}
