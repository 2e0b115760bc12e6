import { type GpuOptions, LEFT_OUT, type ShareRange } from './option-table.js'

/** The cheapest way to process each share of one GPU within a deadline, and the lower convex hull of these costs. */
export class CheapestShares {
  readonly #options: GpuOptions
  /** Cost of each share, J; infinite if no option processes it within the deadline. */
  readonly cost: Float64Array
  /** Option with that cost. */
  readonly limit: Int16Array
  /** Shares at the vertices of the lower convex hull, ascending; the first `hullLength` entries count. */
  readonly hull: Int32Array
  hullLength = 0
  #deadlineS = Number.NaN
  #range: ShareRange = { first: 0, last: 0 }

  constructor(options: GpuOptions, globalBatch: number) {
    this.#options = options
    this.cost = new Float64Array(globalBatch + 1)
    this.limit = new Int16Array(globalBatch + 1)
    this.hull = new Int32Array(globalBatch + 1)
  }

  /** Finds the cheapest option of each share in a range. A repeated call with the same arguments costs no work. */
  find(deadlineS: number, range: ShareRange): void {
    const { cost, limit } = this
    const { first, last } = range
    if (deadlineS === this.#deadlineS && first === this.#range.first && last === this.#range.last) return
    this.#deadlineS = deadlineS
    this.#range = range
    // Disallowed shares take infinite time, which no deadline admits.
    const latestS = Math.min(deadlineS, Number.MAX_VALUE)
    cost.fill(Infinity, first, last + 1)
    for (let l = 0; l < this.#options.settings.length; l++) {
      const { timeS, activeEnergyJ } = this.#options.table(l)
      for (let share = first; share <= last; share++) {
        const value = activeEnergyJ[share]!
        if (timeS[share]! <= latestS && value < cost[share]!) {
          cost[share] = value
          limit[share] = l
        }
      }
    }
    if (first === 0 && this.#options.mayBeLeftOut) {
      cost[0] = 0
      limit[0] = LEFT_OUT
    }
    this.#findHull(range)
  }

  /** Finds the hull by Andrew's monotone chain. Shares of infinite cost are skipped. */
  #findHull({ first, last }: ShareRange): void {
    const { cost, hull } = this
    let length = 0
    for (let share = first; share <= last; share++) {
      const value = cost[share]!
      if (value === Infinity) continue
      while (length > 1) {
        const a = hull[length - 2]!
        const b = hull[length - 1]!
        if ((cost[b]! - cost[a]!) * (share - a) < (value - cost[a]!) * (b - a)) break
        length--
      }
      hull[length++] = share
    }
    this.hullLength = length
  }

  /** The smallest share that minimises cost - `price` * share. */
  shareAt(price: number): number {
    const { cost, hull } = this
    let low = 0
    let high = this.hullLength - 1
    while (low < high) {
      const middle = (low + high) >> 1
      const a = hull[middle]!
      const b = hull[middle + 1]!
      if (cost[b]! - cost[a]! < price * (b - a)) low = middle + 1
      else high = middle
    }
    return hull[low]!
  }
}
