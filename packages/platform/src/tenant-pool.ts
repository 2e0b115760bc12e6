import type { Tenant } from './configuration.js'
import type { LatencyHistogram } from './latency-histogram.js'

/**
 * State of a tenant's process.
 *
 * `stalled`: the process is alive, but for ten batch times it has completed no batch. Its next batch makes it `running`
 * again. Heartbeats do not count, because they may come from a thread that runs no batches.
 */
export type TenantState = 'loading' | 'running' | 'stalled' | 'failed'

/**
 * Monotonic counters of one tenant's process. Throughput is the difference between two readings. If the two readings
 * are at the same times for all tenants, their throughputs are comparable.
 */
export interface TenantCounters {
  /** Identifies the process. A restarted tenant gets a new id, and its counters start at 0 again. */
  readonly id: number
  readonly tenant: Tenant
  readonly state: TenantState
  /** Reason of a failure, e.g. `out of memory: needs 3.1 GiB, 1.2 GiB free`, or how long a stall has lasted. */
  readonly failure?: string | undefined
  readonly samples: number
  readonly batches: number
  /** Sum of the latencies of the completed batches, ms. */
  readonly latencySumMs: number
  /**
   * Monotonic time at which the last batch was completed, ms. Before the first batch: the time at which the process was
   * ready.
   */
  readonly lastCompletionMs: number
  /** Number of samples in the last completed batch; 0 before the first batch. */
  readonly lastBatchSize: number
  /** Latencies of all completed batches, if the pool records them; an immutable copy. */
  readonly latencies?: LatencyHistogram
}

/** A tenant's process on this machine. */
export interface TenantProcess {
  readonly pid: number
  /** Device that the process reports, e.g. `cpu`. */
  readonly device: string
}

/** Runs the tenants of a configuration and counts their completed batches. */
export interface TenantPool {
  /**
   * Makes the given tenants run. A process with the same network and share is kept; a new batch size applies from its
   * next batch on. Other processes are drained and restarted, and shares shrink before others grow. Resolves once all
   * tenants are running or have failed. Failures (out of memory, crash) are not thrown, but appear in the counters.
   *
   * @throws InvalidInputError for tenants that no board could run
   */
  apply(tenants: readonly Tenant[], options?: { readonly signal?: AbortSignal }): Promise<void>
  /** Counters of each tenant, in the order of the last `apply`. */
  counters(): readonly TenantCounters[]
  /**
   * Processes of the tenants, in the order of the last `apply`. Absent if tenants are not processes of this machine.
   */
  processes?(): readonly TenantProcess[]
  /** Stops every process that this pool started. A second call does nothing; `apply` may follow. */
  stop(): Promise<void>
}
