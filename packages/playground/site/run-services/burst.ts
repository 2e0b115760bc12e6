import { seedFrom } from '@pctodl/numerics'
import type { Arrivals } from '@pctodl/platform'
import { type ArrivalProcess, poissonArrivals } from '@pctodl/traffic'
import { BURST_FACTOR, BURST_S } from './burst-size.js'

/** The additional requests of one burst. */
interface Burst {
  readonly arrivals: Arrivals
  readonly fromMs: number
  nextMs: number
}

/**
 * Arrivals to which bursts can be added during a run. A burst begins with the first usual request at or after its time.
 * The arrivals are therefore the same whether the burst was requested before or during the run.
 */
export class BurstableArrivals implements Arrivals {
  readonly #usual: Arrivals
  readonly #extra: ArrivalProcess
  readonly #seed: number
  /** Start times of requested bursts that have not begun, ascending, ms. */
  #asked: number[] = []
  #nextUsualMs: number
  #lastUsualMs = -1
  #running: Burst[] = []

  /**
   * @param ratePerS rate of the usual requests, above 0
   * @param seed seed of the additional requests
   */
  constructor(usual: Arrivals, ratePerS: number, seed: number) {
    this.#usual = usual
    this.#extra = poissonArrivals({ ratePerS: BURST_FACTOR * ratePerS })
    this.#seed = seed
    this.#nextUsualMs = usual.nextMs()
  }

  /**
   * Requests a burst.
   *
   * @param fromMs a future time, ms after the start of the arrivals
   */
  burst(fromMs: number): void {
    this.#asked = [...this.#asked, fromMs].sort((a, b) => a - b)
    this.#beginBursts()
  }

  nextMs(): number {
    const [extra] = this.#running.toSorted((a, b) => a.nextMs - b.nextMs)
    if (extra && extra.nextMs < this.#nextUsualMs) {
      const timeMs = extra.nextMs
      extra.nextMs = extra.fromMs + extra.arrivals.nextMs()
      if (extra.nextMs >= extra.fromMs + 1000 * BURST_S) this.#running.splice(this.#running.indexOf(extra), 1)
      return timeMs
    }
    this.#lastUsualMs = this.#nextUsualMs
    this.#nextUsualMs = this.#usual.nextMs()
    this.#beginBursts()
    return this.#lastUsualMs
  }

  /** Begins the bursts whose first usual request has arrived. */
  #beginBursts(): void {
    for (let atMs = this.#asked[0]; atMs !== undefined && atMs <= this.#lastUsualMs; atMs = this.#asked[0]) {
      this.#asked.shift()
      const fromMs = this.#lastUsualMs
      const arrivals = this.#extra.start(seedFrom(this.#seed, 'burst', Math.round(atMs)))
      this.#running.push({ arrivals, fromMs, nextMs: fromMs + arrivals.nextMs() })
    }
  }
}
