import type { TenantCounters } from '@pctodl/platform'

/** A process of the pool that is gone, with its last counters. */
export interface EndedWorker {
  readonly id: number
  readonly pid: number
  readonly logFile: string | null
  readonly counters: TenantCounters
  /** Undefined for one that was drained as it should be. */
  readonly failure: string | undefined
}
