import type { ClocksEventReason, TraceRow } from '@pctodl/platform'
import type { SweepName } from '../plan/profile-plan.js'
import type { RowStatus } from './row-status.js'

/** A row of a trace, with the fields that only the profiler writes. */
export interface ProfileRow extends TraceRow {
  /** Index of the row in the plan, from 0. */
  readonly row: number
  readonly sweep: SweepName
  readonly repeat: number
  readonly status: RowStatus
  /** Why a row failed; empty otherwise. */
  readonly message: string
  /** Time for which the board cooled down before the row, ms. */
  readonly coolDownMs: number
  /** Time from applying the configuration to the start of the measuring window, ms. */
  readonly settleMs: number
  readonly windowMs: number
  /** Relative standard errors of mean power and of throughput, percent; NaN if they are unknown. */
  readonly powerErrorPercent: number
  readonly throughputErrorPercent: number
  /** Energy that the board used in the measuring window, by its energy counter, J; null if it has none. */
  readonly energyJ: number | null
  /** Mean temperature over the measuring window, degrees Celsius; null if the board does not report it. */
  readonly temperatureC: number | null
  /** Reasons for a lowered clock that the driver reported at any time in the measuring window. */
  readonly clocksEventReasons: readonly ClocksEventReason[]
  /** Quantiles of each tenant's batch latencies, ms; empty if the tenant pool keeps no latency histogram. */
  readonly latencyP50Ms: readonly number[]
  readonly latencyP95Ms: readonly number[]
  readonly latencyP99Ms: readonly number[]
  /**
   * Processes on the board during the measuring window, e.g. `412 python3 (ours), 77 train.py (foreign)`; empty if no
   * other process can be on the board.
   */
  readonly boardProcesses: string
  /** Device that each tenant's worker reports; empty on the simulated board. */
  readonly devices: readonly string[]
  /** Number of batches that each tenant completed in the measuring window; empty if the row was not measured. */
  readonly batches: readonly number[]
  /** Start time of the row, ISO 8601. */
  readonly startedAt: string
}

/** The fields whose values come from the measuring window. */
export type Measurements = Omit<
  ProfileRow,
  | 'row'
  | 'sweep'
  | 'repeat'
  | 'tenants'
  | 'targetSmClockMhz'
  | 'memClockMhz'
  | 'status'
  | 'message'
  | 'failed'
  | 'coolDownMs'
  | 'settleMs'
  | 'windowMs'
  | 'startedAt'
>

/** The measured fields of a row without a measurement. */
export const nothingMeasured: Measurements = {
  smClockMhz: Number.NaN,
  smUtilPercent: Number.NaN,
  memUtilPercent: Number.NaN,
  throughput: Number.NaN,
  powerAverageW: Number.NaN,
  powerMaxW: Number.NaN,
  tenantThroughput: [],
  tenantLatencyMs: [],
  memoryUsedBytes: null,
  powerErrorPercent: Number.NaN,
  throughputErrorPercent: Number.NaN,
  energyJ: null,
  temperatureC: null,
  clocksEventReasons: [],
  latencyP50Ms: [],
  latencyP95Ms: [],
  latencyP99Ms: [],
  boardProcesses: '',
  devices: [],
  batches: [],
}
