import { SeededRandom } from '@pctodl/numerics'
import type { Arrivals } from '@pctodl/platform'
import { type ArrivalProcess, positive } from './arrival-process.js'
import { gamma } from './random-gaps.js'

export interface GammaArrivalsOptions {
  /** Requests/s. */
  readonly ratePerS: number
  /**
   * Variance of the gaps between requests over their squared mean, above 0. 1 is Poisson, 4 is bursty, 0.25 is more
   * regular. Some tools call the reciprocal (the shape of the distribution) burstiness.
   */
  readonly burstiness: number
}

/** Independent, gamma-distributed gaps between requests, more or less regular than those of a Poisson process. */
export function gammaArrivals({ ratePerS, burstiness }: GammaArrivalsOptions): ArrivalProcess {
  positive('ratePerS', ratePerS, 'requests/s above 0')
  positive('burstiness', burstiness, 'the squared coefficient of variation of the gaps, above 0')
  return { meanRatePerS: ratePerS, start: (seed) => new GammaArrivals(1000 / ratePerS, burstiness, seed) }
}

class GammaArrivals implements Arrivals {
  readonly #shape: number
  readonly #scaleMs: number
  readonly #random: SeededRandom
  #timeMs = 0

  constructor(meanGapMs: number, burstiness: number, seed: number) {
    this.#shape = 1 / burstiness
    this.#scaleMs = meanGapMs * burstiness
    this.#random = new SeededRandom(seed)
  }

  nextMs(): number {
    this.#timeMs += this.#scaleMs * gamma(this.#random, this.#shape)
    return this.#timeMs
  }
}
