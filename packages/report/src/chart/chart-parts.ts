import { INK, type TopLevelSpec } from '../charts.js'
import type { RunRecord } from '../record/run-record.js'
import type { RunSummary } from '../verdict/run-summary.js'

/** One of the plots of a chart, which are stacked vertically. */
export type ChartPanel = Extract<TopLevelSpec, { vconcat: unknown }>['vconcat'][number]

/** One of the layers of a plot. */
export type ChartLayer = Extract<ChartPanel, { layer: unknown }>['layer'][number]

/** Encoding of a quantity. */
export function quantity<More extends object>(
  field: string,
  more: More,
): { field: string; type: 'quantitative' } & More {
  return { field, type: 'quantitative', ...more }
}

/** Encoding of a name, for example of an algorithm. */
export function nominal<More extends object>(field: string, more: More): { field: string; type: 'nominal' } & More {
  return { field, type: 'nominal', ...more }
}

/** Mark for text that starts at its position. */
export function textMark<const More extends object>(
  more: More,
): { type: 'text'; align: 'left'; baseline: 'middle' } & More {
  return { type: 'text', align: 'left', baseline: 'middle', ...more }
}

type Title = NonNullable<TopLevelSpec['title']>

/** Heading of a panel, above the left edge of its plot. */
export function panelTitle(text: string): Title {
  return { text, fontSize: 13, fontWeight: 'bold', color: INK, anchor: 'start', offset: 6 }
}

/** Heading of a chart, with a line below it. */
export function chartTitle(text: string, subtitle: string, offset = 14): Title {
  return { text, subtitle, fontSize: 17, subtitleFontSize: 13, subtitlePadding: 5, offset }
}

/** A run, with its colour in a chart. */
export interface ChartedRun {
  readonly run: RunRecord
  readonly summary: RunSummary
  readonly color: string
}

/**
 * Reduces a curve to at most two points per time bucket: its lowest and its highest value, in order of time. This makes
 * pictures small but keeps peaks visible. A stretch of NaN values keeps one point, which breaks the line.
 *
 * @param visit called with each point that is kept, in order of time
 */
export function thinCurve(
  timeMs: ArrayLike<number>,
  values: ArrayLike<number>,
  bucketMs: number,
  visit: (timeMs: number, value: number) => void,
): void {
  let low = -1
  let high = -1
  let bucket = -1
  const flush = () => {
    if (low < 0) return
    const first = Math.min(low, high)
    const last = Math.max(low, high)
    visit(timeMs[first]!, values[first]!)
    if (last !== first) visit(timeMs[last]!, values[last]!)
    low = -1
    high = -1
  }
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!
    if (Number.isNaN(value)) {
      flush()
      if (i > 0 && !Number.isNaN(values[i - 1]!)) visit(timeMs[i]!, value)
      continue
    }
    const at = Math.floor(timeMs[i]! / bucketMs)
    if (at !== bucket) flush()
    bucket = at
    if (low < 0 || value < values[low]!) low = i
    if (high < 0 || value > values[high]!) high = i
  }
  flush()
}

/** The common time axis of a chart: minutes for long runs, seconds for short ones. */
export interface TimeAxis {
  readonly unit: 's' | 'min'
  /** Length of the axis in the axis's unit. */
  readonly length: number
  readonly msPerUnit: number
}

const LONGEST_IN_SECONDS_MS = 5 * 60_000

export function timeAxis(durationMs: number): TimeAxis {
  const inSeconds = durationMs <= LONGEST_IN_SECONDS_MS
  const msPerUnit = inSeconds ? 1000 : 60_000
  return { unit: inSeconds ? 's' : 'min', length: durationMs / msPerUnit, msPerUnit }
}

/**
 * Horizontal encoding of a panel: time on the common axis.
 *
 * @param labelled whether the panel shows the axis's labels; a panel above another one with the same axis need not
 */
export function timeEncoding({ unit, length }: TimeAxis, labelled: boolean): ReturnType<typeof quantity> {
  return quantity('t', {
    scale: { domain: [0, length], nice: false },
    axis: { title: labelled ? `time, ${unit}` : null, labels: labelled, ticks: labelled, tickCount: 10 },
  })
}
