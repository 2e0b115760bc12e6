import type { AppliedState, TenantWindow, WindowObservation } from '@pctodl/scheduler'
import type { PowerSeries as PowerReadings } from '../evaluate/index.js'

/** Power over a run and the SM clock read with it, MHz; null where that could not be read. */
export interface PowerSeries extends PowerReadings {
  readonly smClockMhz?: readonly (number | null)[]
}

/** What is kept of a measuring window; a `WindowObservation` with its start by the calendar is one. */
export interface RecordedWindow extends Omit<WindowObservation, 'tenants' | 'applied'> {
  readonly startedAt: Date
  readonly tenants: readonly Pick<TenantWindow, 'tenant'>[]
  readonly applied: Pick<AppliedState, 'smClockMhz' | 'memClockMhz'>
}

/** How long batches of one network took once the algorithm had come to rest. */
export interface NetworkLatency {
  readonly model: string
  /** What 99 of 100 batches were to keep, ms; absent where there was no such objective. */
  readonly objectiveMs?: number
  readonly meanMs: number
  /** 99th percentile over batches, ms. */
  readonly p99Ms: number
}

/** Everything that is known of one finished run of one algorithm on one task. */
export interface RunRecord {
  readonly board: string
  readonly algorithm: string
  readonly taskId: number
  readonly model: string
  readonly dataset: string
  /** Set of tasks that it belongs to, where there are several. */
  readonly set?: string
  readonly durationMs: number
  readonly windows: readonly RecordedWindow[]
  readonly power: PowerSeries
  /** Samples completed over the whole run. */
  readonly samples: number
  /** By network; absent where it was not measured. */
  readonly latency?: readonly NetworkLatency[]
  /** Plain-language remarks that belong beside the figures, e.g. a power limit raised to the board's minimum. */
  readonly notes: readonly string[]
}
