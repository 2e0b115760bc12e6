import type { TenantCounters } from './tenant-pool.js'

/**
 * Whether a measured rate can be believed. Where it is not `ok` the rate is a lower bound, or null.
 *
 * - `ok`
 * - `unknown`: a counter fell, or is no number; nothing can be said
 * - `failed`: the tenant's process has failed
 * - `stalled`: the process lives, but for a part of the window it completed nothing, though it was time
 * - `too-short`: not one batch was completed between the edges, and none was overdue
 * - `restarted`: the process is not the one that was there at the window's start
 */
export const rateValidities = ['unknown', 'failed', 'stalled', 'too-short', 'restarted', 'ok'] as const
export type RateValidity = (typeof rateValidities)[number]

/** What one tenant completed between the edges of a window. */
export interface TenantRate {
  /** Samples/s, at least 0; a lower bound where `validity` is not `ok`, null where not even that is known. */
  readonly samplesPerS: number | null
  readonly validity: RateValidity
  /** Completed between the edges; 0 where the counters cannot be believed. */
  readonly samples: number
  readonly batches: number
  /** Sum of the latencies of these batches, ms. */
  readonly latencySumMs: number
}

/** A tenant that never completed a batch has no batch time of its own yet: so long may its first take, ms. */
const FIRST_BATCH_MS = 60_000
/** Batch times without a batch after which a process counts as stalled, and the least time, ms. */
const STALLED_BATCHES = 10
const STALLED_MIN_MS = 1000
/** Batch times without a batch after which a window's edge counts as idle, and what a report may take to arrive, ms. */
const OVERDUE_BATCHES = 3
const REPORT_MS = 250

type Progress = Pick<TenantCounters, 'tenant' | 'samples' | 'batches' | 'latencySumMs' | 'lastCompletionMs'>

/**
 * How long a process may complete nothing before it counts as stalled: ten of its own batch times, at least 1 s. The batch
 * time is the mean since its start, scaled to the present batch size where that is larger than the mean one. Ten, because a
 * clock that falls from its highest to its lowest state makes batches up to eight times longer.
 *
 * @returns ms
 */
export function stalledAfterMs(counters: Omit<Progress, 'lastCompletionMs'>): number {
  const batchMs = batchTimeMs(counters)
  return batchMs === null ? FIRST_BATCH_MS : Math.max(STALLED_MIN_MS, STALLED_BATCHES * batchMs)
}

/**
 * The rate of a tenant between two readings of its counters, and whether it can be believed. Counters move in whole batches:
 * the rate is taken from the last completion before the window to the last one within it, so that no edge cuts a batch in two.
 * A process that stopped completing before the window's end is counted to that end instead, which gives a lower bound, and not
 * the rate that it had while it worked.
 *
 * @param before at the window's start; undefined, or another process, where the tenant was (re)started within it
 * @param after at the window's end
 * @param startMs of the window, on the clock of `lastCompletionMs`
 * @param endMs of the window, on the same clock
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
  // Before its first batch a process counts from its readiness.
  const edgeMs = from ? Math.min(from.lastCompletionMs, startMs) : startMs
  const atLeast = endMs > edgeMs ? (1000 * samples) / (endMs - edgeMs) : null
  const bound = (validity: RateValidity): TenantRate => ({ samplesPerS: atLeast, validity, ...completed })
  if (after.state === 'failed') return bound('failed')
  if (after.state === 'loading') return bound('restarted')
  const silentMs = endMs - after.lastCompletionMs
  if (after.state === 'stalled' || silentMs > stalledAfterMs(after)) return bound('stalled')
  if (batches === 0) {
    const replaced = before !== undefined && before.id !== after.id
    return replaced ? bound('restarted') : { samplesPerS: null, validity: 'too-short', ...completed }
  }
  const spanMs = after.lastCompletionMs - edgeMs
  const intervalMs = Math.max(batchTimeMs(after)!, latencySumMs / batches, spanMs / batches)
  if (silentMs > OVERDUE_BATCHES * intervalMs + REPORT_MS) return bound('stalled')
  if (!from) return bound('restarted')
  if (!(spanMs > 0)) return bound('unknown')
  return { samplesPerS: (1000 * samples) / spanMs, validity: 'ok', ...completed }
}

/** The worst of several: a sum can be believed as far as each of its parts can. `ok` for none. */
export function worstValidity(validities: Iterable<RateValidity>): RateValidity {
  const present = new Set(validities)
  return rateValidities.find((validity) => present.has(validity)) ?? 'ok'
}

/** Whether a counter of one process is lower than it was, which no working counter ever is. */
export function hasFallen(before: Omit<Progress, 'tenant'>, after: Omit<Progress, 'tenant'>): boolean {
  return (
    after.samples < before.samples ||
    after.batches < before.batches ||
    after.latencySumMs < before.latencySumMs ||
    after.lastCompletionMs < before.lastCompletionMs
  )
}

function batchTimeMs({ tenant, samples, batches, latencySumMs }: Omit<Progress, 'lastCompletionMs'>): number | null {
  if (!(batches > 0)) return null
  const perSampleMs = samples > 0 ? latencySumMs / samples : 0
  return Math.max(latencySumMs / batches, perSampleMs * tenant.batchSize)
}

function isCount({ samples, batches, latencySumMs, lastCompletionMs }: Omit<Progress, 'tenant'>): boolean {
  return (
    [samples, batches, latencySumMs].every((n) => Number.isFinite(n) && n >= 0) && Number.isFinite(lastCompletionMs)
  )
}
