import type { Clock } from '@pctodl/platform'
import { nextTurn } from '../work/next-turn.js'

interface Sleeper {
  readonly wakeMs: number
  readonly order: number
  readonly wake: () => void
}

/**
 * Virtual time that goes no further than somebody allows: the same sleepers wake in the same order as on a `VirtualClock`, so a run
 * is the same at any pace.
 */
export class PacedClock implements Clock {
  #nowMs = 0
  #allowedMs = 0
  #order = 0
  #pumping = false
  readonly #sleepers: Sleeper[] = []
  readonly #epochMs = Date.parse('2026-01-01T00:00:00Z')

  now(): number {
    return this.#nowMs
  }

  date(): Date {
    return new Date(this.#epochMs + this.#nowMs)
  }

  /** Let time go on to here at most, ms. */
  allow(untilMs: number): void {
    this.#allowedMs = Math.max(this.#allowedMs, untilMs)
    void this.#pump()
  }

  /** Stand still here, whatever was allowed before. */
  hold(): void {
    this.#allowedMs = this.#nowMs
  }

  sleep(durationMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted()
      const onAbort = () => {
        const index = this.#sleepers.indexOf(sleeper)
        if (index >= 0) this.#sleepers.splice(index, 1)
        reject(signal?.reason)
      }
      const sleeper: Sleeper = {
        wakeMs: this.#nowMs + Math.max(0, durationMs),
        order: this.#order++,
        wake: () => {
          signal?.removeEventListener('abort', onAbort)
          resolve()
        },
      }
      signal?.addEventListener('abort', onAbort, { once: true })
      this.#sleepers.push(sleeper)
      void this.#pump()
    })
  }

  async #pump(): Promise<void> {
    if (this.#pumping) return
    this.#pumping = true
    for (;;) {
      // A task of its own runs when every pending microtask has: then all code waits for this clock.
      await nextTurn()
      const next = this.#next()
      if (!next || next.wakeMs > this.#allowedMs) break
      this.#sleepers.splice(this.#sleepers.indexOf(next), 1)
      this.#nowMs = Math.max(this.#nowMs, next.wakeMs)
      next.wake()
    }
    this.#pumping = false
  }

  #next(): Sleeper | undefined {
    let next: Sleeper | undefined
    for (const sleeper of this.#sleepers) {
      if (!next || sleeper.wakeMs < next.wakeMs || (sleeper.wakeMs === next.wakeMs && sleeper.order < next.order)) {
        next = sleeper
      }
    }
    return next
  }
}
