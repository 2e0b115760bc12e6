import type { MeasuredWindow } from '@pctodl/platform'
import type { PowerSeries as PowerReadings } from '../evaluate/power-signal.js'

/** Power over a run, and the SM clock of each reading, MHz. A clock that could not be read is null. */
export interface PowerSeries extends PowerReadings {
  readonly smClockMhz?: readonly (number | null)[]
}

/** A measuring window, and its start in calendar time. */
export interface RecordedWindow extends MeasuredWindow {
  readonly startedAt: Date
}

/** Latency of one network's batches, or of one service's requests, in the steady state. */
export interface NetworkLatency {
  /** Name of the network or the service. */
  readonly model: string
  /** Objective for the 99th percentile, ms; absent if there is none. */
  readonly objectiveMs?: number
  /** Mean latency of the batches, ms; absent for requests. */
  readonly meanMs?: number
  /** 99th percentile, ms; null if no request was answered. */
  readonly p99Ms: number | null
}

/** How the requests of one service ended. They are counted from the time when its tenants had started. */
export interface ServiceOutcome {
  readonly service: string
  /** Rate of requests answered within the objective, requests/s. */
  readonly goodputPerS: number
  /**
   * Fraction of the decided requests (answered, shed or failed) that were answered within the objective, 0..1; null if
   * no request was decided.
   */
  readonly attainment: number | null
  readonly objectiveMet: boolean | null
  readonly p99Ms: number | null
  readonly shed: number
  readonly failed: number
}

/** Results of open-loop requests, which arrive whether or not earlier ones were answered. */
export interface ServedRequests {
  readonly services: readonly ServiceOutcome[]
  /** Mean power while requests were counted, W. */
  readonly meanPowerW: number
  /** Energy of the board per request that was answered within the objective, J; null if there was none. */
  readonly energyPerRequestJ: number | null
  /** Highest load factor at which every service meets its objective; absent if the run did not search for it. */
  readonly maxLoad?: number
  /** Requests in each second, by service; null before a service began and after it ended. */
  readonly perSecond: readonly {
    readonly service: string
    readonly arrived: readonly (number | null)[]
    /** Requests that were late, shed or failed. */
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
  /** Name of the set of tasks that contains the task, if there are several sets. */
  readonly set?: string
  readonly durationMs: number
  readonly windows: readonly RecordedWindow[]
  readonly power: PowerSeries
  /** Number of samples completed over the whole run. */
  readonly samples: number
  /** Name of the individual board if the runs are on several boards of one type: `A100~v3`, `A100 seed 2`. */
  readonly instance?: string
  /** Times at which reconfigurations began, except at the start of the run, ms. */
  readonly restartsMs?: readonly number[]
  /** Results of requests; absent if the run had no services. */
  readonly requests?: ServedRequests
  /** Batch latencies by network; absent if they were not measured. */
  readonly latency?: readonly NetworkLatency[]
  /** Remarks on the run in plain language, e.g. that a power limit was raised to the board's minimum. */
  readonly notes: readonly string[]
}
