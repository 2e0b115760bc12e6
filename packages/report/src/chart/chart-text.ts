import { INK } from '@pctodl/charts'
import type { ChartLayer } from './chart-panel.js'

/** A line of text beside a plot, `y` px below its top. */
export interface SideLine {
  readonly text: string
  readonly y: number
  readonly size: number
  readonly bold: boolean
  readonly ink: string
  /** The algorithm that it is about, for whoever leaves some out. */
  readonly algorithm?: string
}

/** Lines of text that start `x` px right of the plot's left edge. */
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

/** A panel's heading, at its left edge above the plot. */
export function panelTitle(text: string): PanelTitle {
  return { text, fontSize: 13, fontWeight: 'bold', color: INK, anchor: 'start', offset: 6 }
}
