import type { ClocksEventReason, TraceRow } from '@pctodl/platform'
import type { SweepName } from '../plan/profile-plan.js'
import type { RowStatus } from './row-status.js'

/** A trace row with the additional fields of the profiler. */
export interface ProfileRow extends TraceRow {
  /** Place in the plan, from 0. */
  readonly row: number
  readonly sweep: SweepName
  readonly repeat: number
  readonly status: RowStatus
  /** Why a row failed; empty otherwise. */
  readonly message: string
  /** Time spent cooling down before the row, ms. */
  readonly coolDownMs: number
  /** Time from applying the configuration to the start of the window, ms. */
  readonly settleMs: number
  readonly windowMs: number
  /** Relative standard errors of mean power and throughput, percent; NaN if they are not known. */
  readonly powerErrorPercent: number
  readonly throughputErrorPercent: number
  /** Energy used in the window by the board's counter, J; null on a board without one. */
  readonly energyJ: number | null
  /** Mean temperature over the window, degrees Celsius; null on a board that does not report it. */
  readonly temperatureC: number | null
  /** Reasons for which the driver lowered the clock at any time in the window. */
  readonly clocksEventReasons: readonly ClocksEventReason[]
  /** Quantiles of the batch latencies of each tenant, ms; empty if the pool keeps no histogram. */
  readonly latencyP50Ms: readonly number[]
  readonly latencyP95Ms: readonly number[]
  readonly latencyP99Ms: readonly number[]
  /**
   * Processes on the board during the window, e.g. `412 python3 (ours), 77 train.py (foreign)`; empty if no other
   * process can be on it.
   */
  readonly boardProcesses: string
  /** Device of each tenant as its worker reports it; empty on the simulated board. */
  readonly devices: readonly string[]
  /** Number of batches that each tenant completed in the window; empty if nothing was measured. */
  readonly batches: readonly number[]
  /** Start time of the row, ISO 8601. */
  readonly startedAt: string
}
