import { conformalQuantile } from '@pctodl/numerics'
import type { Novelty } from './novelty.js'
import type { Interval } from './prediction.js'

/** How far training colocations of one kind were from predictions that had not seen them, in units of the predicted spread. */
export interface Misses {
  readonly novelty: Novelty
  /** Number of members. */
  readonly size: number
  /** Of members that were known. */
  readonly members: readonly number[]
  /** Of members that were not. */
  readonly strangers: readonly number[]
  readonly sums: readonly number[]
}

/** Fewer misses than this say nothing about a level. */
const LEAST_MISSES = 20

/**
 * Split-conformal intervals by what is new about a group: as many predicted spreads wide as their share of the training
 * colocations of that kind needed, each predicted by a model that knew as little of it.
 */
export class Calibration {
  readonly #misses: readonly Misses[]

  constructor(misses: readonly Misses[]) {
    this.#misses = misses
  }

  /**
   * Spreads to each side.
   *
   * @returns null where too few colocations of the kind, or of a kind that knows less, were predicted
   */
  widthOf(what: 'members' | 'strangers' | 'sums', novelty: Novelty, size: number, level: number): number | null {
    const fallbacks: Readonly<Record<Novelty, readonly Novelty[]>> = {
      'known pairs': ['known pairs', 'new pairs'],
      'new pairs': ['new pairs', 'known pairs'],
      'new batch size': ['new batch size', 'new network'],
      'new network': ['new network'],
    }
    for (const kind of fallbacks[novelty]) {
      const ofKind = this.#misses.filter((misses) => misses.novelty === kind)
      for (const some of [ofKind.filter((misses) => misses.size === size), ofKind]) {
        const values = Float64Array.from(some.flatMap((misses) => misses[what])).sort()
        if (values.length >= LEAST_MISSES) return conformalQuantile(values, level)
      }
    }
    return null
  }
}

export function around(value: number, logWidth: number): Interval {
  return { low: value * Math.exp(-logWidth), high: value * Math.exp(logWidth) }
}

/** Standard deviation of the logarithm of a sum, to first order, from the shares of its terms and their covariance. */
export function spreadOf(shares: readonly number[], covariance: readonly (readonly number[])[]): number {
  let variance = 0
  shares.forEach((a, i) => {
    shares.forEach((b, j) => {
      variance += a * b * covariance[i]![j]!
    })
  })
  // Rounding may leave a little less than nothing of the variance of what was measured.
  return Math.sqrt(Math.max(0, variance))
}
