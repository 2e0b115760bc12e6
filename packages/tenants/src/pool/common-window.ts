import { type Clock, LatencyHistogram, type Tenant, type TenantCounters } from '@pctodl/platform'
import type { WorkerProcess } from './worker-process.js'

/** One tenant's part of a window. */
export interface WindowTenant {
  readonly tenant: Tenant
  readonly samples: number
  readonly batches: number
  /** Samples/s, from the last batch completed before the window to the last completed in it. */
  readonly throughput: number
  /** Mean and quantiles of the latencies of the batches completed in the window, ms; NaN where there were none. */
  readonly latencyMeanMs: number
  readonly latencyP50Ms: number
  readonly latencyP95Ms: number
  readonly latencyP99Ms: number
  /** Why the figures are not those of one process that ran all the time; undefined where they are. */
  readonly disturbance: string | undefined
}

export interface MeasuredWindow {
  readonly durationMs: number
  readonly tenants: readonly WindowTenant[]
  /** Samples/s over all tenants: the sum of theirs, since they share the window. */
  readonly throughput: number
  /** Samples that all tenants completed within it. */
  readonly samples: number
}

/**
 * Count what all tenants complete between two instants that are the same for all of them.
 *
 * @param workers the tenants' processes at the time of the call; a restarted tenant has another one at the end
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
  const tenants = after.map((counters, i) => windowTenant(before[i], counters))
  return {
    durationMs: clock.now() - startMs,
    tenants,
    throughput: tenants.reduce((sum, tenant) => sum + tenant.throughput, 0),
    samples: tenants.reduce((sum, tenant) => sum + tenant.samples, 0),
  }
}

async function readAll(workers: () => readonly WorkerProcess[]): Promise<readonly TenantCounters[]> {
  await Promise.all(workers().map((worker) => worker.report()))
  return workers().map((worker) => worker.counters)
}

function windowTenant(before: TenantCounters | undefined, after: TenantCounters): WindowTenant {
  const sameProcess = before?.id === after.id
  const nothing = new LatencyHistogram()
  // A process that came during the window is counted from its own start.
  const from = sameProcess ? before : undefined
  const samples = after.samples - (from?.samples ?? 0)
  const batches = after.batches - (from?.batches ?? 0)
  const latencySumMs = after.latencySumMs - (from?.latencySumMs ?? 0)
  const spanMs = from ? after.lastCompletionMs - from.lastCompletionMs : latencySumMs
  const latencies = (after.latencies ?? nothing).since(from?.latencies ?? nothing)
  return {
    tenant: after.tenant,
    samples,
    batches,
    throughput: spanMs > 0 ? (1000 * samples) / spanMs : 0,
    latencyMeanMs: batches > 0 ? latencySumMs / batches : Number.NaN,
    latencyP50Ms: latencies.quantileMs(0.5),
    latencyP95Ms: latencies.quantileMs(0.95),
    latencyP99Ms: latencies.quantileMs(0.99),
    disturbance: disturbanceOf(before, after),
  }
}

function disturbanceOf(before: TenantCounters | undefined, after: TenantCounters): string | undefined {
  if (after.state === 'failed') return after.failure ?? 'it has failed'
  if (before?.id !== after.id) return 'it was restarted during the window'
  return after.state === 'running' ? undefined : `it is ${after.state}`
}
