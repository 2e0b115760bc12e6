import type { CheapestShares } from './cheapest-shares.js'
import type { ShareRange } from './option-table.js'

/** Maximum number of bisections of the multiplier's range; the precision of a double is exhausted then. */
const MAX_HALVINGS = 100

/**
 * Finds a nearly cheapest split of a global batch over GPUs within a deadline. Each sample has a price; the sum of the
 * shares is not forced to equal the batch (Lagrangian relaxation; Everett, "Generalized Lagrange multiplier method",
 * 1963). The value is a lower bound. It also gives, for every share of every GPU, the minimum extra cost of a solution
 * that uses it.
 */
export class DeadlineRelaxation {
  readonly #globalBatch: number
  readonly #cheapest: readonly CheapestShares[]
  /** Lower bound of the cost; infinite if the deadline cannot be met. */
  bound: number = Number.POSITIVE_INFINITY
  /** Samples of each GPU in a split near the bound. The split is feasible only if `cost` is finite. */
  readonly shares: Int32Array
  /** Cost of that solution; infinite if none was found. */
  cost: number = Number.POSITIVE_INFINITY
  #lambda = 0

  /** @param cheapest one per GPU */
  constructor(cheapest: readonly CheapestShares[], globalBatch: number) {
    this.#globalBatch = globalBatch
    this.#cheapest = cheapest
    this.shares = new Int32Array(cheapest.length)
  }

  /** Minimum cost of a share after `solve`, J. */
  costOf(gpu: number, share: number): number {
    return this.#cheapest[gpu]!.cost[share]!
  }

  limitOf(gpu: number, share: number): number {
    return this.#cheapest[gpu]!.limit[share]!
  }

  /** @param deadlineS deadline of every GPU, s */
  solve(deadlineS: number, ranges: readonly ShareRange[]): void {
    this.bound = Number.POSITIVE_INFINITY
    this.cost = Number.POSITIVE_INFINITY
    let least = 0
    let most = 0
    let steepest = 0
    for (const [i, cheapest] of this.#cheapest.entries()) {
      cheapest.find(deadlineS, ranges[i]!)
      const { hull, hullLength, cost } = cheapest
      if (hullLength === 0) return
      least += hull[0]!
      most += hull[hullLength - 1]!
      if (hullLength > 1) {
        const slope = (a: number, b: number) => Math.abs((cost[b]! - cost[a]!) / (b - a))
        steepest = Math.max(steepest, slope(hull[0]!, hull[1]!), slope(hull[hullLength - 2]!, hull[hullLength - 1]!))
      }
    }
    if (least > this.#globalBatch || most < this.#globalBatch) return
    this.#price(steepest)
    this.#roundUp()
  }

  /**
   * Returns the smallest range of a GPU's shares outside which every solution costs more than `allowance` above the
   * bound.
   */
  shrink(gpu: number, { first, last }: ShareRange, allowance: number): ShareRange {
    const { cost } = this.#cheapest[gpu]!
    const lambda = this.#lambda
    const best = this.#cheapest[gpu]!.shareAt(lambda)
    const highest = cost[best]! - lambda * best + allowance
    let from = first
    while (from < best && !(cost[from]! - lambda * from <= highest)) from++
    let to = last
    while (to > best && !(cost[to]! - lambda * to <= highest)) to--
    return { first: from, last: to }
  }

  /** Finds the price of a sample at which the GPUs together take exactly the batch. */
  #price(steepest: number): void {
    let low = -steepest - 1
    let high = steepest + 1
    for (let i = 0; i < MAX_HALVINGS; i++) {
      const middle = (low + high) / 2
      if (middle === low || middle === high) break
      if (this.#taken(middle) <= this.#globalBatch) low = middle
      else high = middle
    }
    const [atLow, atHigh] = [this.#dual(low), this.#dual(high)]
    this.#lambda = atLow >= atHigh ? low : high
    this.bound = Math.max(atLow, atHigh)
    this.#cheapest.forEach((cheapest, i) => {
      this.shares[i] = cheapest.shareAt(low)
    })
  }

  #taken(lambda: number): number {
    let sum = 0
    for (const cheapest of this.#cheapest) sum += cheapest.shareAt(lambda)
    return sum
  }

  #dual(lambda: number): number {
    let value = lambda * this.#globalBatch
    for (const cheapest of this.#cheapest) {
      const share = cheapest.shareAt(lambda)
      value += cheapest.cost[share]! - lambda * share
    }
    return value
  }

  /** Assigns the remaining samples to the GPU where they cost least, or to several GPUs if none can take them all. */
  #roundUp(): void {
    const { shares } = this
    let left = this.#globalBatch
    for (const share of shares) left -= share
    while (left > 0) {
      let chosen = -1
      let amount = 0
      let minRise = Number.POSITIVE_INFINITY
      for (let i = 0; i < shares.length; i++) {
        const { cost, hull, hullLength } = this.#cheapest[i]!
        const share = shares[i]!
        let take = Math.min(left, hull[hullLength - 1]! - share)
        while (take > 0 && cost[share + take] === Number.POSITIVE_INFINITY) take--
        if (take <= 0) continue
        const rise = (cost[share + take]! - cost[share]!) / take
        // Prefers the GPU that can take the most samples: one that takes all of them completes the split.
        if (take > amount || (take === amount && rise < minRise)) {
          chosen = i
          amount = take
          minRise = rise
        }
      }
      if (chosen < 0) return
      shares[chosen]! += amount
      left -= amount
    }
    this.cost = 0
    for (let i = 0; i < shares.length; i++) this.cost += this.costOf(i, shares[i]!)
  }
}
