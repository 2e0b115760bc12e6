import type { CheapestShares } from './cheapest-shares.js'
import type { ShareRange } from './option-table.js'

/** Relative difference in cost below which two solutions are equal. */
export const SAME_COST = 1e-10

/** Maximum number of bisections of the multiplier's range; the precision of a double is exhausted then. */
const MAX_HALVINGS = 100

/**
 * Finds a nearly cheapest split of a global batch over GPUs within a deadline. Each sample has a price; the shares need
 * not add up to the batch (Lagrangian relaxation; Everett, "Generalized Lagrange multiplier method", 1963). The value
 * is a lower bound. It also bounds the extra cost of a solution with a given share of a GPU.
 */
export class DeadlineRelaxation {
  readonly #globalBatch: number
  readonly #cheapest: readonly CheapestShares[]
  /** Lower bound of the cost; infinite if the deadline cannot be met. */
  bound: number = Infinity
  /** Samples of each GPU in a split near the bound. The split is feasible only if `cost` is finite. */
  readonly shares: Int32Array
  /** Cost of that solution; infinite if none was found. */
  cost: number = Infinity
  #lambda = 0

  /** @param cheapest one per GPU */
  constructor(cheapest: readonly CheapestShares[], globalBatch: number) {
    this.#globalBatch = globalBatch
    this.#cheapest = cheapest
    this.shares = new Int32Array(cheapest.length)
  }

  /** Returns the option that processes a share at the lowest cost within the deadline of the last `solve`. */
  limitOf(gpu: number, share: number): number {
    return this.#cheapest[gpu]!.limit[share]!
  }

  /** @param deadlineS deadline of every GPU, s */
  solve(deadlineS: number, ranges: readonly ShareRange[]): void {
    this.bound = Infinity
    this.cost = Infinity
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

  /**
   * Finds the cheapest split within the deadline of the last `solve`, exactly. The relaxation leaves a few shares of
   * each GPU that could be part of a better solution than its own. Dynamic programming searches these.
   *
   * @param ranges as in `solve`
   * @returns shares, one per GPU; null if the deadline cannot be met
   */
  exactShares(ranges: readonly ShareRange[]): Int32Array | null {
    if (this.bound === Infinity) return null
    const gap = this.cost - this.bound
    if (this.cost < Infinity && gap <= SAME_COST * Math.abs(this.cost)) return Int32Array.from(this.shares)
    const narrowed = ranges.map((range, gpu) => this.shrink(gpu, range, gap))
    // From here on, samples are counted above the smallest share of each GPU.
    const samples = this.#globalBatch - narrowed.reduce((sum, { first }) => sum + first, 0)
    if (samples < 0) return null
    let cost = new Float64Array(samples + 1).fill(Infinity)
    cost[0] = 0
    let reached = 0
    const chosen = narrowed.map(({ first, last }, gpu) => {
      const next = new Float64Array(samples + 1).fill(Infinity)
      const choice = new Int32Array(samples + 1)
      for (let extra = 0; first + extra <= last; extra++) {
        const added = this.#cheapest[gpu]!.cost[first + extra]!
        if (added === Infinity) continue
        const end = Math.min(reached, samples - extra)
        for (let before = 0; before <= end; before++) {
          const value = cost[before]! + added
          if (value < next[before + extra]!) {
            next[before + extra] = value
            choice[before + extra] = extra
          }
        }
      }
      cost = next
      reached = Math.min(samples, reached + last - first)
      return choice
    })
    if (cost[samples] === Infinity) return null
    const shares = new Int32Array(narrowed.length)
    let left = samples
    for (let gpu = shares.length - 1; gpu >= 0; gpu--) {
      const extra = chosen[gpu]![left]!
      shares[gpu] = narrowed[gpu]!.first + extra
      left -= extra
    }
    return shares
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
      const offers = this.#cheapest.map(({ cost, hull, hullLength }, gpu) => {
        const share = shares[gpu]!
        let take = Math.min(left, hull[hullLength - 1]! - share)
        while (take > 0 && cost[share + take] === Infinity) take--
        return { gpu, take, rise: (cost[share + take]! - cost[share]!) / take }
      })
      // Prefers the GPU that can take the most samples: one that takes all of them completes the split.
      const { gpu, take } = offers.reduce((best, other) =>
        other.take > best.take || (other.take === best.take && other.rise < best.rise) ? other : best,
      )
      if (take === 0) return
      shares[gpu]! += take
      left -= take
    }
    this.cost = 0
    for (let i = 0; i < shares.length; i++) this.cost += this.#cheapest[i]!.cost[shares[i]!]!
  }
}
