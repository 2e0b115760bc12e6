import type { TenantCounters } from '@pctodl/platform'

/** An ended process of the pool, with its last counters. */
export interface EndedWorker {
  readonly id: number
  readonly pid: number
  /** Null if the pool keeps no logs. The file does not exist if the worker ended before it started counting. */
  readonly logFile: string | null
  readonly counters: TenantCounters
  /** Reason of the failure; undefined for a worker that was drained normally. */
  readonly failure: string | undefined
}
