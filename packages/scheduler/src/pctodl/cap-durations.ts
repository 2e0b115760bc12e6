/** Caps of late that say how long one lasts. */
const REMEMBERED = 3

/** How long caps last: what a change of tenants for the present one may count on. */
export class CapDurations {
  readonly #lastedMs: number[] = []
  #sinceMs = 0

  /** A new cap holds from now on. */
  changed(timeMs: number): void {
    this.#lastedMs.push(timeMs - this.#sinceMs)
    if (this.#lastedMs.length > REMEMBERED) this.#lastedMs.shift()
    this.#sinceMs = timeMs
  }

  /**
   * Time that the present cap may be expected to go on, s: as long as the shortest of the last few, and where it has lasted longer
   * than these, as long again.
   */
  expectedS(timeMs: number): number {
    const elapsedMs = timeMs - this.#sinceMs
    const shortestMs = this.#lastedMs.length > 0 ? Math.min(...this.#lastedMs) : 0
    return Math.max(elapsedMs, shortestMs - elapsedMs) / 1000
  }
}
