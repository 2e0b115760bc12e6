import type { Tenant } from './configuration.js'
import type { LatencyHistogram } from './latency-histogram.js'

/**
 * `stalled`: the process is alive but completed no batch for ten times its batch time; its next batch makes it
 * `running` again. Progress decides rather than heartbeats, which may come from a thread that does no inference.
 */
export type TenantState = 'loading' | 'running' | 'stalled' | 'failed'

/**
 * Monotonic counters of one tenant process. Differences between two readings, taken over one common window for all
 * tenants, give their throughputs, so these are consistent with each other.
 */
export interface TenantCounters {
  /** Identifies the process; a restarted tenant gets a new one, and its counters start at 0 again. */
  readonly id: number
  readonly tenant: Tenant
  readonly state: TenantState
  /** Reason of a failure or duration of a stall, e.g. `out of memory: needs 3.1 GiB, 1.2 GiB free`. */
  readonly failure?: string
  readonly samples: number
  readonly batches: number
  /** Sum of the latencies of the completed batches, ms. */
  readonly latencySumMs: number
  /** Monotonic time at which the last batch completed, ms; before the first batch, the time of readiness. */
  readonly lastCompletionMs: number
  /** Latencies of all completed batches, where the pool records them; an immutable copy. */
  readonly latencies?: LatencyHistogram
}

/** A tenant's process on this machine. */
export interface TenantProcess {
  readonly pid: number
  /** Device reported by the process, e.g. `cpu`. */
  readonly device: string
}

/** Runs the tenants of a configuration and counts their completed batches. */
export interface TenantPool {
  /**
   * Make these tenants the running ones. A process with the same network and share is kept (a batch size changes at the
   * next batch); the others are drained and restarted, shrinking ones before growing ones. Resolves once all are
   * running or failed. Failures (out of memory, crash) are reported in the counters, not thrown.
   *
   * @throws InvalidInputError for tenants that no board could run
   */
  apply(tenants: readonly Tenant[], options?: { readonly signal?: AbortSignal }): Promise<void>
  /** One entry per tenant, in the order of the last `apply`. */
  counters(): readonly TenantCounters[]
  /** One entry per tenant, in the order of the last `apply`; absent where tenants are not processes of this machine. */
  processes?(): readonly TenantProcess[]
  /** Stop every process that this pool started. Idempotent; `apply` may follow. */
  stop(): Promise<void>
}
