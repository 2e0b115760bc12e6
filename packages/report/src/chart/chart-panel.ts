import type { TopLevelSpec } from '@pctodl/charts'

/** One of the plots that a chart stacks. */
export type ChartPanel = Extract<TopLevelSpec, { vconcat: unknown }>['vconcat'][number]

/** One of the drawings that lie over one another in a plot. */
export type ChartLayer = Extract<ChartPanel, { layer: unknown }>['layer'][number]
