import type { TenantCounters } from './tenant-pool.js'

/**
 * How reliable a measured rate is. Unless it is `ok`, the rate is a lower bound or null.
 *
 * - `unknown`: a counter decreased or is not a number
 * - `failed`: the tenant's process has failed
 * - `stalled`: for part of the window, the process was alive but completed no batch for too long
 * - `too-short`: no batch of the present size was completed within the window, and none was overdue
 * - `restarted`: the process is not the one that ran at the start of the window
 */
export const rateValidities = ['unknown', 'failed', 'stalled', 'too-short', 'restarted', 'ok'] as const
export type RateValidity = (typeof rateValidities)[number]

/** Throughput and completed samples of one tenant within a window. */
export interface TenantRate {
  /**
   * Throughput, samples/s, at least 0. Unless `validity` is `ok`, it is a lower bound, or null if no bound is known.
   */
  readonly samplesPerS: number | null
  readonly validity: RateValidity
  /** Samples completed within the window; 0 if the counters are unreliable. */
  readonly samples: number
  readonly batches: number
  /** Sum of the latencies of the batches completed within the window, ms. */
  readonly latencySumMs: number
}

/** Time that a tenant's first batch may take before it counts as stalled, ms. Its duration is not known yet. */
const FIRST_BATCH_MS = 60_000
/** Time without a completed batch that a process may take to prepare for another batch size, ms: CUDA graphs, workspaces. */
const PREPARATION_MS = 15_000
/** A process counts as stalled if it completes no batch for this number of batch times. */
const STALLED_BATCHES = 10
/** Minimum time without a completed batch before a process counts as stalled, ms. */
const STALLED_MIN_MS = 1000
/**
 * If no batch was completed for this number of batch times before the end of the window, the process counts as idle at
 * its end.
 */
const OVERDUE_BATCHES = 3
/** Time that a worker's report may take to arrive, ms. */
const REPORT_MS = 250

type Progress = Omit<TenantCounters, 'id' | 'failure' | 'latencies'>
const rising = ['samples', 'batches', 'latencySumMs', 'lastCompletionMs'] as const
type Counts = Pick<TenantCounters, (typeof rising)[number]>

/**
 * Whether a process that should complete batches counts as stalled at a time on the clock of `lastCompletionMs`. It may
 * complete no batch for ten batch times, and for at least 1 s. The batch time is the mean since the process started; if
 * the current batch size exceeds the mean one, it is scaled up. The factor is ten because going from the maximum to the
 * minimum clock makes batches up to eight times longer. Before its first batch of another size, a process has 15 s.
 */
export function isStalled(counters: Progress, nowMs: number): boolean {
  if (counters.state !== 'running') return counters.state === 'stalled'
  const batchMs = batchTimeMs(counters)
  const usualMs = batchMs === null ? FIRST_BATCH_MS : STALLED_BATCHES * batchMs
  return nowMs - counters.lastCompletionMs > Math.max(usualMs, isPreparing(counters) ? PREPARATION_MS : STALLED_MIN_MS)
}

/** Whether a process has not yet completed a batch of its present size. On request, each size runs before it is ready. */
function isPreparing({ tenant, lastBatchSize }: Progress): boolean {
  return tenant.service === undefined && lastBatchSize !== tenant.batchSize
}

/**
 * Returns the rate of a tenant between two readings of its counters, and how reliable it is. Counters advance by whole
 * batches, so the rate is measured from the last batch completed before the window to the last one completed in it. If
 * a process stopped completing batches early, the rate is measured up to the end of the window and is a lower bound.
 *
 * @param before reading at the start of the window; undefined, or of another process, if the tenant was (re)started
 *   within the window
 * @param after reading at the end of the window
 * @param startMs start of the window, on the clock of `lastCompletionMs`
 * @param endMs end of the window, on the same clock
 */
export function tenantRate(
  before: TenantCounters | undefined,
  after: TenantCounters,
  startMs: number,
  endMs: number,
): TenantRate {
  const from = before?.id === after.id && before.state !== 'loading' ? before : undefined
  if (!isCount(after) || (from && (!isCount(from) || hasFallen(from, after)))) {
    return { samplesPerS: null, validity: 'unknown', samples: 0, batches: 0, latencySumMs: 0 }
  }
  const samples = after.samples - (from?.samples ?? 0)
  const batches = after.batches - (from?.batches ?? 0)
  const latencySumMs = after.latencySumMs - (from?.latencySumMs ?? 0)
  const completed = { samples, batches, latencySumMs }
  // For a process that has completed no batch yet, time counts from when it was ready.
  const edgeMs = from ? Math.min(from.lastCompletionMs, startMs) : startMs
  const atLeast = endMs > edgeMs ? (1000 * samples) / (endMs - edgeMs) : null
  const bound = (validity: RateValidity): TenantRate => ({ samplesPerS: atLeast, validity, ...completed })
  if (after.state === 'failed') return bound('failed')
  if (after.state === 'loading') return bound('restarted')
  if (isStalled(after, endMs)) return bound('stalled')
  if (batches === 0) {
    const replaced = before !== undefined && before.id !== after.id
    return replaced ? bound('restarted') : { samplesPerS: null, validity: 'too-short', ...completed }
  }
  const spanMs = after.lastCompletionMs - edgeMs
  const intervalMs = Math.max(batchTimeMs(after)!, latencySumMs / batches, spanMs / batches)
  if (endMs - after.lastCompletionMs > OVERDUE_BATCHES * intervalMs + REPORT_MS) {
    return bound(isPreparing(after) ? 'too-short' : 'stalled')
  }
  if (!from) return bound('restarted')
  if (!(spanMs > 0)) return bound('unknown')
  return { samplesPerS: (1000 * samples) / spanMs, validity: 'ok', ...completed }
}

/**
 * Returns the worst of several validities, which is the validity of a sum of rates. Returns `ok` for an empty list.
 */
export function worstValidity(validities: Iterable<RateValidity>): RateValidity {
  const present = new Set(validities)
  return rateValidities.find((validity) => present.has(validity)) ?? 'ok'
}

/** Whether a counter of one process decreased, which is always an error. */
export function hasFallen(before: Counts, after: Counts): boolean {
  return rising.some((name) => after[name] < before[name])
}

function batchTimeMs({ tenant, samples, batches, latencySumMs }: Progress): number | null {
  if (!(batches > 0)) return null
  const perSampleMs = samples > 0 ? latencySumMs / samples : 0
  return Math.max(latencySumMs / batches, perSampleMs * tenant.batchSize)
}

function isCount({ samples, batches, latencySumMs, lastBatchSize, lastCompletionMs }: Progress): boolean {
  const counts = [samples, batches, latencySumMs, lastBatchSize]
  return counts.every((n) => Number.isFinite(n) && n >= 0) && Number.isFinite(lastCompletionMs)
}
