import type { ClocksEventReason, TraceRow } from '@pctodl/platform'
import type { SweepName } from '../plan/profile-plan.js'
import type { RowStatus } from './row-status.js'

/** A row of a trace with what the profiler knows beyond it. */
export interface ProfileRow extends TraceRow {
  /** Place in the plan, from 0. */
  readonly row: number
  readonly sweep: SweepName
  readonly repeat: number
  readonly status: RowStatus
  /** Why a row failed; empty otherwise. */
  readonly message: string
  /** Waiting for the board to cool down before the row, ms. */
  readonly coolDownMs: number
  /** From the applied configuration to the window, ms. */
  readonly settleMs: number
  readonly windowMs: number
  /** Relative standard errors of mean power and throughput, percent; NaN where they are not known. */
  readonly powerErrorPercent: number
  readonly throughputErrorPercent: number
  /** Energy of the window by the board's counter, J; null on a board without one. */
  readonly energyJ: number | null
  /** Mean over the window, degrees Celsius; null on a board that does not say. */
  readonly temperatureC: number | null
  /** Reasons that held the clock down at any time of the window. */
  readonly clocksEventReasons: readonly ClocksEventReason[]
  /** Quantiles of the batch latencies per tenant, ms; empty where the pool keeps no histogram. */
  readonly latencyP50Ms: readonly number[]
  readonly latencyP95Ms: readonly number[]
  readonly latencyP99Ms: readonly number[]
  /** Who was on the board in the window, in words, e.g. `412 python3 (ours), 77 train.py (foreign)`; empty where nobody else can be. */
  readonly boardProcesses: string
  /** What each tenant inferred on, as its worker says; empty where that is the simulated board. */
  readonly devices: readonly string[]
  /** Batches that each tenant completed in the window; empty where nothing was measured. */
  readonly batches: readonly number[]
  /** When the row was begun, ISO 8601. */
  readonly startedAt: string
}
