import type { Tenant } from './configuration.js'
import type { LatencyHistogram } from './latency-histogram.js'

/**
 * State of a tenant's process.
 *
 * `stalled`: the process is alive but completed no batch for ten times its batch time. Its next batch makes it
 * `running` again. Heartbeats do not decide, since they may come from a thread that does no inference.
 */
export type TenantState = 'loading' | 'running' | 'stalled' | 'failed'

/**
 * Monotonic counters of one tenant process. To get throughputs, take the differences between two readings over one
 * common window for all tenants; the throughputs are then consistent with each other.
 */
export interface TenantCounters {
  /** Identifies the process. A restarted tenant gets a new id, and its counters start at 0 again. */
  readonly id: number
  readonly tenant: Tenant
  readonly state: TenantState
  /** Reason of a failure, e.g. `out of memory: needs 3.1 GiB, 1.2 GiB free`, or duration of a stall. */
  readonly failure?: string
  readonly samples: number
  readonly batches: number
  /** Sum of the latencies of the completed batches, ms. */
  readonly latencySumMs: number
  /**
   * Monotonic time at which the last batch completed, ms. Before the first batch: the time at which the process became
   * ready.
   */
  readonly lastCompletionMs: number
  /** Latencies of all completed batches, if the pool records them; an immutable copy. */
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
   * Makes `tenants` the running ones. A process with the same network and share is kept, and a new batch size applies
   * from its next batch. Other processes are drained and restarted; shrinking shares come before growing ones. Resolves
   * once all tenants are running or failed. Failures (out of memory, crash) appear in the counters; they are not
   * thrown.
   *
   * @throws InvalidInputError for tenants that no board could run
   */
  apply(tenants: readonly Tenant[], options?: { readonly signal?: AbortSignal }): Promise<void>
  /** One entry per tenant, in the order of the last `apply`. */
  counters(): readonly TenantCounters[]
  /**
   * One entry per tenant, in the order of the last `apply`. Absent if the tenants are not processes of this machine.
   */
  processes?(): readonly TenantProcess[]
  /** Stops every process that this pool started. Idempotent; `apply` may follow. */
  stop(): Promise<void>
}
