import type { PowerSeries as PowerReadings, WindowObservation } from '@pctodl/scheduler'

/** Power over a run and the SM clock read with it, MHz; null where that could not be read. */
export interface PowerSeries extends PowerReadings {
  readonly smClockMhz?: readonly (number | null)[]
}

/** Everything that is known of one finished run of one algorithm on one task. */
export interface RunRecord {
  readonly board: string
  readonly algorithm: string
  readonly taskId: number
  readonly model: string
  readonly dataset: string
  readonly durationMs: number
  readonly windows: readonly (WindowObservation & { readonly startedAt: Date })[]
  readonly power: PowerSeries
  /** Samples completed over the whole run. */
  readonly samples: number
  /** Plain-language remarks that belong beside the figures, e.g. a power limit raised to the board's minimum. */
  readonly notes: readonly string[]
}
