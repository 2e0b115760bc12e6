import type { Arrivals } from '@pctodl/platform'
import { type ArrivalProcess, positive } from './arrival-process.js'

export interface ConstantArrivalsOptions {
  /** Requests/s. */
  readonly ratePerS: number
}

/** Requests at equal gaps, for example from a camera or a saturation test. The first comes after one gap. */
export function constantArrivals({ ratePerS }: ConstantArrivalsOptions): ArrivalProcess {
  positive('ratePerS', ratePerS, 'requests/s above 0')
  return { meanRatePerS: ratePerS, start: () => new ConstantArrivals(1000 / ratePerS) }
}

class ConstantArrivals implements Arrivals {
  readonly #gapMs: number
  #count = 0

  constructor(gapMs: number) {
    this.#gapMs = gapMs
  }

  nextMs(): number {
    return ++this.#count * this.#gapMs
  }
}
