import type { MeasuredWindow } from '@pctodl/platform'
import type { PowerSeries as PowerReadings } from '../evaluate/power-signal.js'

/** Power over a run, and the SM clock read with it, MHz; null where it could not be read. */
export interface PowerSeries extends PowerReadings {
  readonly smClockMhz?: readonly (number | null)[]
}

/** A measuring window with its calendar start. */
export interface RecordedWindow extends MeasuredWindow {
  readonly startedAt: Date
}

/** Latency of batches of one network in the steady state, or of requests of one service. */
export interface NetworkLatency {
  /** The network, or the service. */
  readonly model: string
  /** Objective of the 99th percentile, ms; absent if there was none. */
  readonly objectiveMs?: number
  /** Absent for requests. */
  readonly meanMs?: number
  /** 99th percentile, ms; null if no request was answered. */
  readonly p99Ms: number | null
}

/** Outcome of the requests of one service, counted from when its tenants had started. */
export interface ServiceOutcome {
  readonly service: string
  /** Requests/s answered within the objective. */
  readonly goodputPerS: number
  /** Share of the decided requests answered within the objective, 0..1; null if there were none. */
  readonly attainment: number | null
  readonly objectiveMet: boolean | null
  readonly p99Ms: number | null
  readonly shed: number
  readonly failed: number
}

/** Open-loop requests: they arrive whether or not earlier ones were answered. */
export interface ServedRequests {
  readonly services: readonly ServiceOutcome[]
  /** Mean power over the same time, W; next, energy of the board per request answered in time, J, or null. */
  readonly meanPowerW: number
  readonly energyPerRequestJ: number | null
  /** Highest load factor at which every service meets its objective, where it was searched for. */
  readonly maxLoad?: number
  /** Counts per second and service; null before the service came and after it went. */
  readonly perSecond: readonly {
    readonly service: string
    readonly arrived: readonly (number | null)[]
    /** Late, shed or failed. */
    readonly missed: readonly (number | null)[]
  }[]
}

/** The complete record of one run of one algorithm on one task. */
export interface RunRecord {
  readonly board: string
  readonly algorithm: string
  readonly taskId: number
  readonly model: string
  readonly dataset: string
  /** Set of tasks that the task belongs to, if there are several. */
  readonly set?: string
  readonly durationMs: number
  readonly windows: readonly RecordedWindow[]
  readonly power: PowerSeries
  /** Samples completed over the whole run. */
  readonly samples: number
  /** Name of the individual board, where there are several: `A100~v3`, `A100 seed 2`. */
  readonly instance?: string
  /** Starts of reconfigurations after the beginning, ms. */
  readonly restartsMs?: readonly number[]
  /** Absent where tenants ran batch after batch. */
  readonly requests?: ServedRequests
  /** By network; absent if it was not measured. */
  readonly latency?: readonly NetworkLatency[]
  /** Remarks in plain language for the figures, e.g. a power limit raised to the board's minimum. */
  readonly notes: readonly string[]
}
