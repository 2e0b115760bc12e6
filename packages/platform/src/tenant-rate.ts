import type { TenantCounters } from './tenant-pool.js'

/**
 * Reliability of a measured rate. Unless it is `ok`, the rate is a lower bound or null.
 *
 * - `unknown`: a counter decreased or is not a number
 * - `failed`: the tenant's process has failed
 * - `stalled`: the process is alive, but completed no batch for too long in part of the window
 * - `too-short`: no batch completed within the window, and none was overdue
 * - `restarted`: the process is not the one that ran at the window's start
 */
export const rateValidities = ['unknown', 'failed', 'stalled', 'too-short', 'restarted', 'ok'] as const
export type RateValidity = (typeof rateValidities)[number]

/** Work that one tenant completed within a window. */
export interface TenantRate {
  /** Throughput, samples/s, at least 0. A lower bound if `validity` is not `ok`; null if no bound is known either. */
  readonly samplesPerS: number | null
  readonly validity: RateValidity
  /** Samples completed within the window; 0 if the counters are unreliable. */
  readonly samples: number
  readonly batches: number
  /** Sum of the latencies of the batches completed within the window, ms. */
  readonly latencySumMs: number
}

/** Time allowed for a tenant's first batch, whose duration is still unknown, ms. */
const FIRST_BATCH_MS = 60_000
/** A process counts as stalled if it completes no batch for this number of batch times. */
const STALLED_BATCHES = 10
/** Minimum time without a completed batch before a process counts as stalled, ms. */
const STALLED_MIN_MS = 1000
/** The end of a window counts as idle if no batch completed for this number of batch times. */
const OVERDUE_BATCHES = 3
/** Allowance for the time that a worker's report takes to arrive, ms. */
const REPORT_MS = 250

type Progress = Pick<TenantCounters, 'tenant' | 'samples' | 'batches' | 'latencySumMs' | 'lastCompletionMs'>

/**
 * Returns the time without a completed batch after which a process counts as stalled: ten batch times, at least 1 s.
 * The batch time is the mean since the process started, scaled up if the current batch size exceeds the mean one. The
 * factor is ten because a drop from the maximum to the minimum clock makes batches up to eight times longer.
 *
 * @returns ms
 */
export function stalledAfterMs(counters: Omit<Progress, 'lastCompletionMs'>): number {
  const batchMs = batchTimeMs(counters)
  return batchMs === null ? FIRST_BATCH_MS : Math.max(STALLED_MIN_MS, STALLED_BATCHES * batchMs)
}

/**
 * Returns the rate of a tenant between two readings of its counters, and the rate's validity. Counters advance by whole
 * batches, so the rate is measured from the last completion before the window to the last one within it. If a process
 * stopped completing batches early, the rate is measured up to the window's end and is a lower bound.
 *
 * @param before reading at the window's start; undefined or from another process if the tenant (re)started within the
 *   window
 * @param after reading at the window's end
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
  // A process that has completed no batch yet counts from the time at which it became ready.
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

/** Returns the worst of several validities, which applies to the sum of the rates; `ok` for an empty list. */
export function worstValidity(validities: Iterable<RateValidity>): RateValidity {
  const present = new Set(validities)
  return rateValidities.find((validity) => present.has(validity)) ?? 'ok'
}

/** True if a counter of one process decreased, which indicates an error. */
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
