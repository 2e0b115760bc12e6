import type { Tenant } from './configuration.js'
import type { LatencyHistogram } from './latency-histogram.js'

/**
 * `stalled` is a process that lives and completes no batch, though it has had ten times its own batch time; it is `running`
 * again with its next batch. What decides is progress: a process may send heartbeats from a thread that does no inference.
 */
export type TenantState = 'loading' | 'running' | 'stalled' | 'failed'

/**
 * Monotonic counters of one tenant process. Two readings, taken at the edges of one common window over all tenants, give
 * its throughput, so that tenants add up by construction.
 */
export interface TenantCounters {
  /** Identifies the process; a restarted tenant gets a new one, and its counters start at 0 again. */
  readonly id: number
  readonly tenant: Tenant
  readonly state: TenantState
  /** Why the process failed, or how long it has stalled, e.g. `out of memory: needs 3.1 GiB, 1.2 GiB free`. */
  readonly failure?: string
  readonly samples: number
  readonly batches: number
  /** Sum of the latencies of the completed batches, ms. */
  readonly latencySumMs: number
  /** Monotonic time at which the last batch completed, ms; time of readiness before the first. */
  readonly lastCompletionMs: number
  /** Latencies of all completed batches, where the pool keeps them; a copy that no longer changes. */
  readonly latencies?: LatencyHistogram
}

/** A tenant's process on this machine. */
export interface TenantProcess {
  readonly pid: number
  /** What it infers on, as it says, e.g. `cpu`. */
  readonly device: string
}

/** Applies a configuration's tenants and counts what they complete. */
export interface TenantPool {
  /**
   * Make these tenants the running ones. Processes whose network and share stay are kept (a batch size changes at the next
   * batch); the others are drained and restarted, shrinking ones before growing ones. Resolves when all are running or
   * have failed; a failure (out of memory, crash) is reported by the counters, not thrown.
   *
   * @throws InvalidInputError for tenants that no board could run
   */
  apply(tenants: readonly Tenant[], options?: { readonly signal?: AbortSignal }): Promise<void>
  /** One entry per tenant, in the order of the last `apply`. */
  counters(): readonly TenantCounters[]
  /** One entry per tenant, in the order of the last `apply`; absent where tenants are no processes of this machine. */
  processes?(): readonly TenantProcess[]
  /** End every process that this pool started. Idempotent; `apply` may follow. */
  stop(): Promise<void>
}
