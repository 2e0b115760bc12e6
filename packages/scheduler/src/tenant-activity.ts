import type { TenantCounters } from '@pctodl/platform'

/** A tenant counts as stalled if it completes no batch for `BATCHES` mean batch times plus `LONGER_MS`. */
const BATCHES = 3
const LONGER_MS = 300
/** The same time before a tenant's first batch, ms. */
const FIRST_MS = 2000

interface Progress {
  batches: number
  sinceMs: number
}

/** Tells stalled tenants from a lighter load: how many of the tenants complete batches. */
export interface Activity {
  /** Share of the running tenants that complete batches, 0..1; null if no tenant runs. */
  readonly activeShare: number | null
  /** Longest time in which the slowest tenant may complete no batch before it counts as stalled, ms. */
  readonly stallNoticeMs: number
}

/** Detects stalled tenants from their counters. */
export class TenantActivity {
  readonly #progress = new Map<number, Progress>()

  /** @param timeMs time at which the counters were read, ms; must not decrease */
  update(timeMs: number, counters: readonly TenantCounters[]): Activity {
    let running = 0
    let active = 0
    let stallNoticeMs = 0
    for (const { id, state, batches, latencySumMs } of counters) {
      if (state !== 'running') {
        this.#progress.delete(id)
        continue
      }
      const known = this.#progress.get(id)
      if (!known) this.#progress.set(id, { batches, sinceMs: timeMs })
      else if (batches !== known.batches) {
        known.batches = batches
        known.sinceMs = timeMs
      }
      const noticeMs = batches === 0 ? FIRST_MS : BATCHES * (latencySumMs / batches) + LONGER_MS
      running++
      if (timeMs - (known?.sinceMs ?? timeMs) <= noticeMs) active++
      stallNoticeMs = Math.max(stallNoticeMs, noticeMs)
    }
    if (this.#progress.size > counters.length) this.#forget(counters)
    return { activeShare: running === 0 ? null : active / running, stallNoticeMs }
  }

  #forget(counters: readonly TenantCounters[]): void {
    const ids = new Set(counters.map(({ id }) => id))
    for (const id of this.#progress.keys()) if (!ids.has(id)) this.#progress.delete(id)
  }
}
