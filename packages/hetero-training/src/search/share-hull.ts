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

/**
 * The shares of one GPU at one level, queried repeatedly for the cheapest at a price and a deadline. A deadline admits
 * the shares up to the last one in time. The hulls of all these prefixes form one tree: the hull that ends with a share
 * is that share plus the hull that ends with its parent. If time falls somewhere with the share, some shares of a
 * prefix are late; the result is then a bound.
 */
export class LevelShares {
  readonly #cost: Float64Array
  /** Minimum time over a share and all larger ones, s. */
  readonly #earliestS: Float64Array
  readonly #parent: Int32Array
  /** A more distant ancestor, so that any ancestor is found in logarithmically many steps (Myers 1983). */
  readonly #jump: Int32Array
  #deadlineS = Number.NaN
  #last = 0
  /** Maximum time of a share, s. */
  readonly longestS: number
  /** Maximum energy of a share above idle, J. */
  readonly maxEnergyJ: number
  /** Result of `cheapest`. */
  share = 0

  constructor({ timeS, activeEnergyJ }: ShareTable) {
    const shares = timeS.length
    this.#cost = activeEnergyJ
    this.#earliestS = timeS.slice()
    this.#parent = new Int32Array(shares).fill(-1)
    this.#jump = new Int32Array(shares).fill(-1)
    const depth = new Int32Array(shares)
    let longestS = 0
    let maxEnergyJ = 0
    let before = -1
    for (let share = 0; share < shares; share++) {
      if (timeS[share] === Number.POSITIVE_INFINITY) continue
      longestS = Math.max(longestS, timeS[share]!)
      maxEnergyJ = Math.max(maxEnergyJ, activeEnergyJ[share]!)
      let parent = before
      while (parent >= 0 && this.#parent[parent]! >= 0 && !this.#isConvex(this.#parent[parent]!, parent, share)) {
        parent = this.#parent[parent]!
      }
      before = share
      this.#parent[share] = parent
      if (parent < 0) continue
      depth[share] = depth[parent]! + 1
      const jump = this.#jump[parent]!
      const isEven =
        jump >= 0 &&
        this.#jump[jump]! >= 0 &&
        depth[parent]! - depth[jump]! === depth[jump]! - depth[this.#jump[jump]!]!
      this.#jump[share] = isEven ? this.#jump[jump]! : parent
    }
    for (let share = shares - 2; share >= 0; share--) {
      this.#earliestS[share] = Math.min(this.#earliestS[share]!, this.#earliestS[share + 1]!)
    }
    this.longestS = longestS
    this.maxEnergyJ = maxEnergyJ
  }

  #isConvex(a: number, b: number, c: number): boolean {
    const cost = this.#cost
    return (cost[b]! - cost[a]!) * (c - a) < (cost[c]! - cost[a]!) * (b - a)
  }

  /**
   * Minimum of energy - `pricePerSample` * share over all shares that take at most `deadlineS`; sets `share` to the
   * minimiser.
   *
   * @returns J; infinite if no share is as fast
   */
  cheapest(pricePerSample: number, deadlineS: number): number {
    if (deadlineS !== this.#deadlineS) this.#findLast(deadlineS)
    if (this.#last < 0) return Number.POSITIVE_INFINITY
    let share = this.#last
    while (this.#falls(share, pricePerSample)) {
      const jump = this.#jump[share]!
      share = this.#falls(jump, pricePerSample) ? jump : this.#parent[share]!
    }
    this.share = share
    return this.#cost[share]! - pricePerSample * share
  }

  /** Whether the parent of a share costs no more at a price. */
  #falls(share: number, price: number): boolean {
    const parent = this.#parent[share]!
    return parent >= 0 && this.#cost[share]! - this.#cost[parent]! >= price * (share - parent)
  }

  #findLast(deadlineS: number): void {
    // Disallowed shares take infinite time, which no deadline admits.
    const latestS = Math.min(deadlineS, Number.MAX_VALUE)
    let low = 0
    let high = this.#earliestS.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#earliestS[middle]! <= latestS) low = middle + 1
      else high = middle
    }
    this.#last = low - 1
    this.#deadlineS = deadlineS
  }
}
