import { ALARM_COLOR, FAINT_INK, INK } from '@pctodl/charts'
import { latencyText } from '../table/latency-text.js'
import type { RunSummary } from '../verdict/run-summary.js'
import { type ChartLayer, sideText } from './chart-parts.js'

/** The name, verdict and figures of a run, to the right of its strip and with its colour: the chart's legend. */
export function stripCaption(summary: RunSummary, color: string, width: number, height: number): ChartLayer[] {
  const violates = summary.verdict.status === 'violates'
  const broken = { cap: 'VIOLATES the cap', latency: 'MISSES its latency', 'cap and latency': 'VIOLATES cap, latency' }
  const words = {
    holds: 'holds the cap',
    violates: broken[summary.verdict.breaks ?? 'cap'],
    unknown: 'power not known',
  }
  const latency = summary.latency?.length ? `, p99 ${latencyText(summary.latency)} ms` : ''
  const watts = (value: number | null) => (value === null ? '-' : value.toFixed(1))
  const above = summary.timeAboveCapPercent
  const source = summary.powerSource === 'true' ? '' : ' (sensor)'
  const lines = [
    { text: summary.algorithm, size: 14, bold: true, ink: INK },
    { text: words[summary.verdict.status], size: 12.5, bold: violates, ink: violates ? ALARM_COLOR : INK },
    { text: above === null ? '' : `above it ${above.toFixed(1)} %${latency}`, size: 12, bold: false, ink: FAINT_INK },
    {
      text: `mean ${watts(summary.meanPowerW)}, peak ${watts(summary.peakPowerW)} W${source}`,
      size: 12,
      bold: false,
      ink: FAINT_INK,
    },
  ]
  return [
    {
      data: { values: [{}] },
      mark: { type: 'rect' as const, color },
      encoding: {
        x: { value: width + 14 },
        x2: { value: width + 20 },
        y: { value: 0 },
        y2: { value: height },
      },
    },
    sideText(
      lines.map((line, i) => ({ ...line, y: 14 + 23 * i })),
      width + 30,
    ),
  ]
}
