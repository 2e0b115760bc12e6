import { type Clock, Sleepers } from '@pctodl/platform'
import { nextTurn } from '../work/next-turn.js'

/**
 * A virtual clock that advances only as far as it is allowed to. Sleepers wake in the same order as on a
 * `VirtualClock`, so a run gives the same result at any pace.
 */
export class PacedClock implements Clock {
  #nowMs = 0
  #allowedMs = 0
  #pumping = false
  readonly #sleepers = new Sleepers()
  readonly #epochMs = Date.parse('2026-01-01T00:00:00Z')

  now(): number {
    return this.#nowMs
  }

  date(): Date {
    return new Date(this.#epochMs + this.#nowMs)
  }

  /** Allows virtual time to advance to `untilMs`. */
  allow(untilMs: number): void {
    this.#allowedMs = Math.max(this.#allowedMs, untilMs)
    void this.#pump()
  }

  /** Stops virtual time at its present value, whatever was allowed before. */
  hold(): void {
    this.#allowedMs = this.#nowMs
  }

  sleep(durationMs: number, signal?: AbortSignal): Promise<void> {
    const slept = this.#sleepers.sleepUntil(this.#nowMs + Math.max(0, durationMs), signal)
    void this.#pump()
    return slept
  }

  async #pump(): Promise<void> {
    if (this.#pumping) return
    this.#pumping = true
    for (;;) {
      // The next turn begins after all pending microtasks, when all other code waits for this clock.
      await nextTurn()
      const next = this.#sleepers.next()
      if (!next || next.wakeMs > this.#allowedMs) break
      this.#nowMs = Math.max(this.#nowMs, next.wakeMs)
      next.wake()
    }
    this.#pumping = false
  }
}
