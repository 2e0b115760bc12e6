import type { WindowObservation } from '@pctodl/scheduler'

/** Power over a run, one entry per sample, from the first moment of the run to its last; never paused. */
export interface PowerSeries {
  /** Milliseconds since the run began. */
  readonly timeMs: readonly number[]
  readonly powerCapW: readonly number[]
  /** The board's own reading, W; null where it could not be read. */
  readonly sensorW: readonly (number | null)[]
  /** True mean power over the interval that ends at `timeMs`, W; known for simulated boards only. */
  readonly trueW?: readonly number[]
  /** SM clock read with the power, MHz; null where it could not be read. */
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
