import type { TenantCounters } from '@pctodl/platform'

/** A former process of the pool, with its last counters. */
export interface EndedWorker {
  readonly id: number
  readonly pid: number
  /** Null if no logs are requested. The file does not exist if the worker ended before it started counting. */
  readonly logFile: string | null
  readonly counters: TenantCounters
  /** Undefined for a worker that was drained normally. */
  readonly failure: string | undefined
}
