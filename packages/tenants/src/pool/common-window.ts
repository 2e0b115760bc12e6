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

/** One tenant's part of a window. */
export interface WindowTenant {
  readonly tenant: Tenant
  readonly samples: number
  readonly batches: number
  /**
   * Samples/s, from the last batch completed before the window to the last completed in it. A lower bound unless
   * `validity` is `ok`; null if not even that is known.
   */
  readonly throughput: number | null
  readonly validity: RateValidity
  /** Mean of the latencies of the batches completed in the window, ms; NaN if there were none (quantiles likewise). */
  readonly latencyMeanMs: number
  readonly latencyP50Ms: number
  readonly latencyP95Ms: number
  readonly latencyP99Ms: number
  /** Why the figures are not those of a single process that ran throughout; undefined if they are. */
  readonly disturbance: string | undefined
}

export interface MeasuredWindow {
  readonly durationMs: number
  readonly tenants: readonly WindowTenant[]
  /** Samples/s: the sum over all tenants, since they share the window. A lower bound unless `validity` is `ok`. */
  readonly throughput: number
  /** The worst validity among the tenants. */
  readonly validity: RateValidity
  /** Samples that all tenants completed within the window. */
  readonly samples: number
}

/**
 * Count what all tenants complete between two instants common to all.
 *
 * @param workers returns the tenants' processes at the time of the call; a restarted tenant has another one at the end
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
  /** Whether the process stalled between the edges, for however long. */
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
  if (validity === 'too-short') return 'it completed no batch during the window'
  if (validity === 'unknown') return 'its counters make no sense'
  return after.state === 'loading' ? 'it is loading' : 'it was restarted during the window'
}
