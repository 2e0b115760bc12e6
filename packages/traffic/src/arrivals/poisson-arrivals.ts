import { SeededRandom } from '@pctodl/numerics'
import type { Arrivals } from '@pctodl/platform'
import { type ArrivalProcess, positive } from './arrival-process.js'
import { exponential } from './random-gaps.js'

export interface PoissonArrivalsOptions {
  /** Requests/s. */
  readonly ratePerS: number
}

/** A Poisson process: arrivals from independent users, as in MLPerf's Server scenario. */
export function poissonArrivals({ ratePerS }: PoissonArrivalsOptions): ArrivalProcess {
  positive('ratePerS', ratePerS, 'requests/s above 0')
  return { meanRatePerS: ratePerS, start: (seed) => new PoissonArrivals(1000 / ratePerS, seed) }
}

class PoissonArrivals implements Arrivals {
  readonly #meanGapMs: number
  readonly #random: SeededRandom
  #timeMs = 0

  constructor(meanGapMs: number, seed: number) {
    this.#meanGapMs = meanGapMs
    this.#random = new SeededRandom(seed)
  }

  nextMs(): number {
    this.#timeMs += this.#meanGapMs * exponential(this.#random)
    return this.#timeMs
  }
}
