import type { TenantCounters } from '@pctodl/platform'

/** A tenant counts as stalled when it completes no batch for BATCHES mean batch times plus LONGER_MS. */
const BATCHES = 3
const LONGER_MS = 300
/** Stall time before the first batch. */
const FIRST_MS = 2000

interface Progress {
  batches: number
  sinceMs: number
}

/** Share of the tenants that complete batches. It tells a lighter load from stalled tenants. */
export interface Activity {
  /** Share of the running tenants, 0..1; null where none runs. */
  readonly activeShare: number | null
  /** Time after which a stall of the slowest one is noticed, ms. */
  readonly stallNoticeMs: number
}

/** Watches the counters of tenants for stalls. */
export class TenantActivity {
  readonly #progress = new Map<number, Progress>()

  /** @param timeMs time of the counters, monotonic */
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
