import {
  type Clock,
  LatencyHistogram,
  type RateValidity,
  type Tenant,
  type TenantCounters,
  tenantRate,
  worstValidity,
} from '@pctodl/platform'
import type { WorkerProcess } from './worker-process.js'

/** What one tenant completed within a window. */
export interface WindowTenant {
  readonly tenant: Tenant
  readonly samples: number
  readonly batches: number
  /**
   * Throughput, samples/s. It is measured from the last batch completed before the window to the last one completed in
   * it. Unless `validity` is `ok`, it is a lower bound, or null if no bound is known.
   */
  readonly throughput: number | null
  readonly validity: RateValidity
  /**
   * Mean latency of the batches completed in the window, ms. This field and the quantiles below are NaN if no batch was
   * completed.
   */
  readonly latencyMeanMs: number
  readonly latencyP50Ms: number
  readonly latencyP95Ms: number
  readonly latencyP99Ms: number
  /** The reason why the tenant did not run undisturbed in one process for the whole window; undefined if it did. */
  readonly disturbance: string | undefined
}

export interface MeasuredWindow {
  readonly durationMs: number
  readonly tenants: readonly WindowTenant[]
  /** Total throughput of all tenants, samples/s. A lower bound unless `validity` is `ok`. */
  readonly throughput: number
  /** The worst validity among the tenants. */
  readonly validity: RateValidity
  /** Samples that all tenants together completed within the window. */
  readonly samples: number
}

/**
 * Measures what every tenant completes between two instants, which are the same for all tenants.
 *
 * @param workers returns the tenants' current processes; a restarted tenant has another process at the end of the
 *   window
 */
export async function measureWindow(
  workers: () => readonly WorkerProcess[],
  clock: Clock,
  durationMs: number,
  signal?: AbortSignal,
): Promise<MeasuredWindow> {
  const before = await readAll(workers)
  const startMs = clock.now()
  await clock.sleep(durationMs, signal)
  const after = await readAll(workers)
  const endMs = clock.now()
  const present = workers()
  const tenants = after.map((counters, i) => {
    const worker = present[i]
    const stalledWithin = worker?.id === counters.id && worker.stalledAtMs >= startMs
    return windowTenant(before[i], counters, { startMs, endMs, stalledWithin })
  })
  return {
    durationMs: endMs - startMs,
    tenants,
    throughput: tenants.reduce((sum, tenant) => sum + (tenant.throughput ?? 0), 0),
    validity: worstValidity(tenants.map(({ validity }) => validity)),
    samples: tenants.reduce((sum, tenant) => sum + tenant.samples, 0),
  }
}

async function readAll(workers: () => readonly WorkerProcess[]): Promise<readonly TenantCounters[]> {
  await Promise.all(workers().map((worker) => worker.report()))
  return workers().map((worker) => worker.counters)
}

interface Edges {
  readonly startMs: number
  readonly endMs: number
  /** Whether the process stalled at any time within the window, even briefly. */
  readonly stalledWithin: boolean
}

function windowTenant(before: TenantCounters | undefined, after: TenantCounters, edges: Edges): WindowTenant {
  const rate = tenantRate(before, after, edges.startMs, edges.endMs)
  const { samples, batches, latencySumMs } = rate
  const validity = worstValidity([rate.validity, edges.stalledWithin ? 'stalled' : 'ok'])
  const nothing = new LatencyHistogram()
  const from = before?.id === after.id ? before.latencies : undefined
  const latencies = (after.latencies ?? nothing).since(from ?? nothing)
  return {
    tenant: after.tenant,
    samples,
    batches,
    throughput: rate.samplesPerS,
    validity,
    latencyMeanMs: batches > 0 ? latencySumMs / batches : Number.NaN,
    latencyP50Ms: latencies.quantileMs(0.5),
    latencyP95Ms: latencies.quantileMs(0.95),
    latencyP99Ms: latencies.quantileMs(0.99),
    disturbance: disturbanceOf(validity, after),
  }
}

function disturbanceOf(validity: RateValidity, after: TenantCounters): string | undefined {
  if (validity === 'ok') return undefined
  if (validity === 'failed') return after.failure ?? 'it has failed'
  if (validity === 'stalled') return after.failure ?? 'it completed nothing for a part of the window'
  if (validity === 'too-short') return 'it completed no batch of its size during the window'
  if (validity === 'unknown') return 'its counters make no sense'
  return after.state === 'loading' ? 'it is loading' : 'it was restarted during the window'
}
