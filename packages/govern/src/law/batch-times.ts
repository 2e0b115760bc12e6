import { sum } from '@pctodl/numerics'
import type { BatchTime } from '../metrics/triton.js'
import { NonNegativeFit, type Reading } from './non-negative-fit.js'

/** Assumed share of a batch's time that is inversely proportional to the clock, until it is measured. */
const CLOCK_SHARE = 0.85

/** Weight in batches, factor on old weights at each interval, and on the time of a batch if its size doubles. */
export interface TimesPrior {
  readonly weight: number
  readonly kept: number
  readonly double: number
}

/**
 * Models the time of a batch by its size n and the SM clock f: (a + b n) + (c + d n) top / f, where top is the highest
 * clock and no coefficient is negative. The first part is time in memory and on the host.
 */
export class BatchTimes {
  readonly #topMhz: number
  readonly #prior: TimesPrior
  readonly #fit: NonNegativeFit
  /** Sums over the batches. Old batches lose weight as in the fit. */
  #count = 0
  #items = 0
  #ratios = 0
  #ms = 0

  constructor(topMhz: number, prior: TimesPrior = { weight: 0.5, kept: 0.9975, double: 1.7 }) {
    this.#topMhz = topMhz
    this.#prior = prior
    this.#fit = new NonNegativeFit(4, prior.kept)
  }

  get known(): boolean {
    return this.#count > 0
  }

  timeMs(size: number, smClockMhz: number): number {
    const [a = 0, b = 0, c = 0, d = 0] = this.#fit.coefficients
    return a + b * size + (c + d * size) * (this.#topMhz / smClockMhz)
  }

  /** Adds the batches of one interval; those without a time are ignored. */
  observe(smClockMhz: number, interval: readonly BatchTime[]): void {
    const batches = interval.filter(({ count, ms }) => count > 0 && ms > 0)
    if (batches.length === 0) return
    const { weight, kept, double } = this.#prior
    const ratio = this.#topMhz / smClockMhz
    const count = sum(batches.map((batch) => batch.count))
    this.#count = kept * this.#count + count
    this.#items = kept * this.#items + sum(batches.map(({ size, count: each }) => each * size))
    this.#ratios = kept * this.#ratios + count * ratio
    this.#ms = kept * this.#ms + sum(batches.map(({ ms }) => ms))
    const meanSize = this.#items / this.#count
    const topMs = this.#ms / this.#count / clockFactor(this.#ratios / this.#count)
    const prior = [1, 2].flatMap((times) =>
      [1, 2].map((x) => reading(times * meanSize, x, topMs * (times === 1 ? 1 : double) * clockFactor(x), weight)),
    )
    const readings = batches.map(({ size, count: each, ms }) => reading(size, ratio, ms / each, each))
    this.#fit.update(readings, prior)
  }
}

function clockFactor(ratio: number): number {
  return 1 - CLOCK_SHARE + CLOCK_SHARE * ratio
}

/** All numbers are divided by the measured time, so that relative errors are fitted. */
function reading(size: number, ratio: number, ms: number, weight: number): Reading {
  return { terms: [1, size, ratio, size * ratio].map((term) => term / ms), value: 1, weight }
}
