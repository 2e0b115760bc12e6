import { SeededRandom } from '@pctodl/numerics'
import { type Arrivals, InvalidInputError } from '@pctodl/platform'
import { type ArrivalProcess, positive } from './arrival-process.js'
import { exponential } from './random-gaps.js'

export interface DiurnalArrivalsOptions {
  /** Mean rate over a whole period, requests/s. */
  readonly meanRatePerS: number
  /** Amplitude of the rate relative to its mean, 0..1. At 0.8, the highest rate is nine times the lowest. */
  readonly swing: number
  /** Length of a day, ms. Default 24 hours; set it lower for a compressed day. */
  readonly periodMs?: number
  /**
   * Time of the highest rate, ms after the start. Default half a period, so that the stream begins at the lowest rate.
   */
  readonly peakMs?: number
}

/** A Poisson process whose rate follows a cosine over the day. */
export function diurnalArrivals(options: DiurnalArrivalsOptions): ArrivalProcess {
  const { meanRatePerS, swing, periodMs = 86_400_000, peakMs = periodMs / 2 } = options
  positive('meanRatePerS', meanRatePerS, 'requests/s above 0')
  positive('periodMs', periodMs, 'milliseconds above 0')
  if (!(swing >= 0 && swing <= 1)) throw new InvalidInputError('swing', swing, 'a number from 0 to 1')
  if (!Number.isFinite(peakMs)) throw new InvalidInputError('peakMs', peakMs, 'milliseconds')
  return { meanRatePerS, start: (seed) => new DiurnalArrivals(meanRatePerS, swing, periodMs, peakMs, seed) }
}

/**
 * Draws arrivals by thinning (Lewis and Shedler, 1979). Candidates come at the highest rate; each is accepted with a
 * probability of present rate / highest rate.
 */
class DiurnalArrivals implements Arrivals {
  readonly #swing: number
  readonly #periodMs: number
  readonly #peakMs: number
  readonly #shortestMeanGapMs: number
  readonly #random: SeededRandom
  #timeMs = 0

  constructor(meanRatePerS: number, swing: number, periodMs: number, peakMs: number, seed: number) {
    this.#swing = swing
    this.#periodMs = periodMs
    this.#peakMs = peakMs
    this.#shortestMeanGapMs = 1000 / (meanRatePerS * (1 + swing))
    this.#random = new SeededRandom(seed)
  }

  nextMs(): number {
    for (;;) {
      this.#timeMs += this.#shortestMeanGapMs * exponential(this.#random)
      const phase = (2 * Math.PI * (this.#timeMs - this.#peakMs)) / this.#periodMs
      const share = (1 + this.#swing * Math.cos(phase)) / (1 + this.#swing)
      if (this.#random.uniform() < share) return this.#timeMs
    }
  }
}
