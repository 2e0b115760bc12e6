import { INK, type TopLevelSpec } from '../charts.js'
import type { RunRecord } from '../record/run-record.js'
import type { RunSummary } from '../verdict/run-summary.js'

/** One of the plots of a chart, which are stacked vertically. */
export type ChartPanel = Extract<TopLevelSpec, { vconcat: unknown }>['vconcat'][number]

/** One of the layers of a plot. */
export type ChartLayer = Extract<ChartPanel, { layer: unknown }>['layer'][number]

/** A line of text beside a plot; `y` is its distance from the plot's top, px. */
export interface SideLine {
  readonly text: string
  readonly y: number
  readonly size: number
  readonly bold: boolean
  readonly ink: string
  /** The algorithm that the line describes, so that a page can hide the line together with it. */
  readonly algorithm?: string
}

/** Creates a layer for lines of text that start `x` px to the right of the plot's left edge. */
export function sideText(lines: readonly SideLine[], x: number): ChartLayer {
  return {
    data: { values: [...lines] },
    mark: {
      type: 'text' as const,
      align: 'left' as const,
      baseline: 'middle' as const,
      fontWeight: { expr: "datum.bold ? 'bold' : 'normal'" },
    },
    encoding: {
      x: { value: x },
      y: { field: 'y', type: 'quantitative' as const, scale: null },
      text: { field: 'text', type: 'nominal' as const },
      size: { field: 'size', type: 'quantitative' as const, scale: null },
      color: { field: 'ink', type: 'nominal' as const, scale: null },
    },
  }
}

interface PanelTitle {
  readonly text: string
  readonly fontSize: number
  readonly fontWeight: 'bold'
  readonly color: string
  readonly anchor: 'start'
  readonly offset: number
}

/** Heading of a panel, above the left edge of its plot. */
export function panelTitle(text: string): PanelTitle {
  return { text, fontSize: 13, fontWeight: 'bold', color: INK, anchor: 'start', offset: 6 }
}

interface ChartTitle {
  readonly text: string
  readonly subtitle: string | string[]
  readonly fontSize: number
  readonly subtitleFontSize: number
  readonly subtitlePadding: number
  readonly offset: number
}

/** Heading of a chart, with the lines below it. */
export function chartTitle(text: string, subtitle: string | string[], offset = 14): ChartTitle {
  return { text, subtitle, fontSize: 17, subtitleFontSize: 13, subtitlePadding: 5, offset }
}

/** A run, with its curves and labels in a chart. */
export interface ChartedRun {
  readonly run: RunRecord
  readonly summary: RunSummary
  readonly color: string
}

/**
 * Spreads labels vertically. Each label is placed as close as possible to its wished position, at least `gap` from its
 * neighbours, without changing the order, and within 0..`height` if all fit.
 *
 * @returns the positions in the order of `wishes`
 */
export function dodgeLabels(wishes: readonly number[], gap: number, height: number): number[] {
  const order = wishes.map((_, i) => i).sort((a, b) => wishes[a]! - wishes[b]! || a - b)
  const placed = order.map((i) => wishes[i]!)
  for (let k = 1; k < placed.length; k++) placed[k] = Math.max(placed[k]!, placed[k - 1]! + gap)
  let limit = height
  for (let k = placed.length - 1; k >= 0; k--) {
    placed[k] = Math.min(placed[k]!, limit)
    limit = placed[k]! - gap
  }
  const positions = new Array<number>(wishes.length)
  order.forEach((i, k) => {
    positions[i] = placed[k]!
  })
  return positions
}

/**
 * Rounds a positive number up to 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6 or 8 times a power of ten, for the upper end of an
 * axis.
 */
export function roundUp(value: number): number {
  if (!(value > 0)) return 1
  const unit = 10 ** Math.floor(Math.log10(value))
  const factor = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8].find((f) => f * unit >= value * (1 - 1e-12)) ?? 10
  return factor * unit
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
