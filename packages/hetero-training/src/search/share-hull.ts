import type { ShareTable } from './option-table.js'

/**
 * Vertices of the lower convex hull of `cost` over the shares of a range (Andrew's monotone chain); shares of infinite
 * cost are skipped.
 *
 * @param hull overwritten from its start
 * @returns the number of vertices
 */
export function lowerHull(cost: Float64Array, first: number, last: number, hull: Int32Array): number {
  let length = 0
  for (let share = first; share <= last; share++) {
    const value = cost[share]!
    if (value === Number.POSITIVE_INFINITY) continue
    while (length > 1) {
      const a = hull[length - 2]!
      const b = hull[length - 1]!
      if ((cost[b]! - cost[a]!) * (share - a) < (value - cost[a]!) * (b - a)) break
      length--
    }
    hull[length++] = share
  }
  return length
}

/** Position on a hull of the smallest minimiser of cost - `price` * share. */
export function leftmost(cost: Float64Array, hull: Int32Array, length: number, price: number): number {
  let low = 0
  let high = length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    const a = hull[middle]!
    const b = hull[middle + 1]!
    if (cost[b]! - cost[a]! < price * (b - a)) low = middle + 1
    else high = middle
  }
  return low
}

/** The shares of one GPU at one level, queried repeatedly for the cheapest at a price and a deadline. */
export class LevelShares {
  readonly #timeS: Float64Array
  readonly #cost: Float64Array
  readonly #inTime: Float64Array
  readonly #hull: Int32Array
  #hullLength = 0
  #deadlineS = Number.NaN
  /** Maximum time of a share, s. */
  readonly longestS: number
  /** Maximum energy of a share above idle, J. */
  readonly maxEnergyJ: number
  /** Result of `cheapest`. */
  share = 0

  constructor({ timeS, activeEnergyJ }: ShareTable) {
    this.#timeS = timeS
    this.#cost = activeEnergyJ
    this.#inTime = new Float64Array(timeS.length)
    this.#hull = new Int32Array(timeS.length)
    let [longestS, maxEnergyJ] = [0, 0]
    timeS.forEach((seconds, share) => {
      if (seconds === Number.POSITIVE_INFINITY) return
      longestS = Math.max(longestS, seconds)
      maxEnergyJ = Math.max(maxEnergyJ, activeEnergyJ[share]!)
    })
    this.longestS = longestS
    this.maxEnergyJ = maxEnergyJ
  }

  /**
   * Minimum of energy - `pricePerSample` * share over all shares that take at most `deadlineS`; sets `share` to the
   * minimiser.
   *
   * @returns J; infinite if no share is as fast
   */
  cheapest(pricePerSample: number, deadlineS: number): number {
    if (deadlineS !== this.#deadlineS) this.#admit(deadlineS)
    if (this.#hullLength === 0) return Number.POSITIVE_INFINITY
    this.share = this.#hull[leftmost(this.#cost, this.#hull, this.#hullLength, pricePerSample)]!
    return this.#cost[this.share]! - pricePerSample * this.share
  }

  #admit(deadlineS: number): void {
    this.#deadlineS = deadlineS
    // Disallowed shares take infinite time, which no deadline admits.
    const latestS = Math.min(deadlineS, Number.MAX_VALUE)
    for (let share = 0; share < this.#timeS.length; share++) {
      this.#inTime[share] = this.#timeS[share]! <= latestS ? this.#cost[share]! : Number.POSITIVE_INFINITY
    }
    this.#hullLength = lowerHull(this.#inTime, 0, this.#timeS.length - 1, this.#hull)
  }
}
