import type { TenantCounters } from '@pctodl/platform'

/** A process of the pool that has ended, and its last counters. */
export interface EndedWorker {
  readonly id: number
  readonly pid: number
  /**
   * File in which the worker logged its own counts; null if the pool keeps no logs. The file does not exist if the
   * worker ended before it counted anything.
   */
  readonly logFile: string | null
  readonly counters: TenantCounters
  /** Reason of the failure; undefined for a worker that the pool ended. */
  readonly failure: string | undefined
}
