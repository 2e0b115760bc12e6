import type { AppliedState, TenantWindow, WindowObservation } from '@pctodl/scheduler'
import type { PowerSeries as PowerReadings } from '../evaluate/power-signal.js'

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

/** How long batches of one network took once the algorithm had come to rest, or requests of one service. */
export interface NetworkLatency {
  /** The network, or the service. */
  readonly model: string
  /** What 99 of 100 were to keep, ms; absent where there was no such objective. */
  readonly objectiveMs?: number
  /** Absent for requests. */
  readonly meanMs?: number
  /** 99th percentile, ms; null where no request was answered. */
  readonly p99Ms: number | null
}

/** What became of the requests of one service, from when its tenants had started. */
export interface ServiceOutcome {
  readonly service: string
  /** Requests/s answered within the objective. */
  readonly goodputPerS: number
  /** Share of the requests decided that were answered within the objective, 0..1; null where none was decided. */
  readonly attainment: number | null
  readonly objectiveMet: boolean | null
  readonly p99Ms: number | null
  readonly shed: number
  readonly failed: number
}

/** Requests that arrived whether or not earlier ones were answered. */
export interface ServedRequests {
  readonly services: readonly ServiceOutcome[]
  /** Over the same time: mean power, W, and energy of the board for each request answered in time, J; null for none. */
  readonly meanPowerW: number
  readonly energyPerRequestJ: number | null
  /** Factor on the rates where it was searched for: the most that every service bears within its objective. */
  readonly maxLoad?: number
  /** Second by second, by service; null before it came and after it went. */
  readonly perSecond: readonly {
    readonly service: string
    readonly arrived: readonly (number | null)[]
    /** Late, shed or failed. */
    readonly missed: readonly (number | null)[]
  }[]
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
  /** The very board, where there are several: `A100~v3`, `A100 seed 2`. */
  readonly instance?: string
  /** When reconfigurations began after the start, ms. */
  readonly restartsMs?: readonly number[]
  /** Absent where tenants ran batch after batch. */
  readonly requests?: ServedRequests
  /** By network; absent where it was not measured. */
  readonly latency?: readonly NetworkLatency[]
  /** Plain-language remarks that belong beside the figures, e.g. a power limit raised to the board's minimum. */
  readonly notes: readonly string[]
}
