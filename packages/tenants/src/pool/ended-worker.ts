import type { TenantCounters } from '@pctodl/platform'

/** A process of the pool that is gone, with its last counters. */
export interface EndedWorker {
  readonly id: number
  readonly pid: number
  /** Null where no logs are asked for. A worker that ended before it began to count has not made its file. */
  readonly logFile: string | null
  readonly counters: TenantCounters
  /** Undefined for one that was drained as it should be. */
  readonly failure: string | undefined
}
