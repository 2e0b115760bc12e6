import type { TenantCounters } from './tenant-pool.js'

/**
 * Whether a measured rate is reliable. Unless it is `ok`, the rate is a lower bound or null.
 *
 * - `ok`
 * - `unknown`: a counter decreased or is not a number
 * - `failed`: the tenant's process has failed
 * - `stalled`: the process is alive, but an overdue batch is missing in part of the window
 * - `too-short`: no batch completed within the window, and none was overdue
 * - `restarted`: the process differs from the one at the window's start
 */
export const rateValidities = ['unknown', 'failed', 'stalled', 'too-short', 'restarted', 'ok'] as const
export type RateValidity = (typeof rateValidities)[number]

/** Work that one tenant completed within a window. */
export interface TenantRate {
  /** Samples/s, at least 0; a lower bound where `validity` is not `ok`, null where even that is unknown. */
  readonly samplesPerS: number | null
  readonly validity: RateValidity
  /** Completed within the window; 0 where the counters are unreliable. */
  readonly samples: number
  readonly batches: number
  /** Sum of the latencies of these batches, ms. */
  readonly latencySumMs: number
}

/** Time allowed for a tenant's first batch, whose duration is still unknown, ms. */
const FIRST_BATCH_MS = 60_000
/** Batch times without a completed batch after which a process counts as stalled. */
const STALLED_BATCHES = 10
/** Minimum time without a completed batch before a process counts as stalled, ms. */
const STALLED_MIN_MS = 1000
/** Batch times without a completed batch after which the end of a window counts as idle. */
const OVERDUE_BATCHES = 3
/** Allowance for the delay of a report, ms. */
const REPORT_MS = 250

type Progress = Pick<TenantCounters, 'tenant' | 'samples' | 'batches' | 'latencySumMs' | 'lastCompletionMs'>

/**
 * Time without a completed batch after which a process counts as stalled: ten of its batch times, at least 1 s. The
 * batch time is the mean since its start, scaled up if the present batch size exceeds the mean one. The factor is ten
 * because a drop from the highest to the lowest clock makes batches up to eight times longer.
 *
 * @returns ms
 */
export function stalledAfterMs(counters: Omit<Progress, 'lastCompletionMs'>): number {
  const batchMs = batchTimeMs(counters)
  return batchMs === null ? FIRST_BATCH_MS : Math.max(STALLED_MIN_MS, STALLED_BATCHES * batchMs)
}

/**
 * Rate of a tenant between two readings of its counters, and its validity. Counters advance by whole batches, so the
 * rate is taken between the last completion before the window and the last one within it. For a process that stopped
 * completing batches early, it is taken up to the window's end, as a lower bound.
 *
 * @param before at the window's start; undefined or another process where the tenant was (re)started within it
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
  // Before its first batch, a process counts from its readiness.
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

/** The worst of several validities, which is that of their sum; `ok` for none. */
export function worstValidity(validities: Iterable<RateValidity>): RateValidity {
  const present = new Set(validities)
  return rateValidities.find((validity) => present.has(validity)) ?? 'ok'
}

/** Whether a counter of one process decreased, which indicates an error. */
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
