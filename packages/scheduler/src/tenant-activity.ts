import type { TenantCounters } from '@pctodl/platform'

/** A tenant counts as stalled if it completes no batch for `BATCHES` mean batch times plus `LONGER_MS`. */
const BATCHES = 3
const LONGER_MS = 300
/** Time without a batch after which a tenant counts as stalled before its first batch, ms. */
const FIRST_MS = 2000

interface Progress {
  readonly batches: number
  readonly sinceMs: number
}

/** How many of the running tenants complete batches. This distinguishes stalled tenants from a lighter load. */
interface Activity {
  /** Share of the running tenants that complete batches, 0..1; null if no tenant runs. */
  readonly activeShare: number | null
  /** Time without a completed batch after which the slowest tenant counts as stalled, ms. */
  readonly stallNoticeMs: number
}

/** Detects stalled tenants from their counters. */
export class TenantActivity {
  #progress = new Map<number, Progress>()

  /** @param timeMs time at which the counters were read, ms; must not decrease */
  update(timeMs: number, counters: readonly TenantCounters[]): Activity {
    const before = this.#progress
    // Only tenants that run now are kept. A tenant that restarts is counted from its new start.
    this.#progress = new Map()
    let running = 0
    let active = 0
    let stallNoticeMs = 0
    for (const { id, state, batches, latencySumMs } of counters) {
      if (state !== 'running') continue
      const known = before.get(id)
      const progress = known?.batches === batches ? known : { batches, sinceMs: timeMs }
      this.#progress.set(id, progress)
      const noticeMs = batches === 0 ? FIRST_MS : BATCHES * (latencySumMs / batches) + LONGER_MS
      running++
      if (timeMs - progress.sinceMs <= noticeMs) active++
      stallNoticeMs = Math.max(stallNoticeMs, noticeMs)
    }
    return { activeShare: running === 0 ? null : active / running, stallNoticeMs }
  }
}
