import { type MixBounds, type MixBox, mixTotals } from '@pctodl/perf-model'
import type { SearchProblem } from '../search-problem.js'
import { MixesInBox } from './mixes-in-box.js'
import { ShareKnapsack } from './share-knapsack.js'

/** Subgradient steps towards the best prices; any prices give a valid bound, so this only affects tightness. */
const STEPS = 16
/** Fraction of the bound that the first step aims to remove. */
const FIRST_REACH = 0.3
/** Factor on the step size after each step without improvement. */
const SHORTER = 0.75

/**
 * Upper bound on the value of the mixes of a box. Every tenant is taken at its best speed and least resource use in the
 * box. Shares are assigned by dynamic programming; all other resources have prices (Lagrangian relaxation, with prices
 * found by subgradients: M. Held, P. Wolfe and H. Crowder, Mathematical Programming 6, 1974).
 */
export class BoxRelaxation {
  readonly mixes: MixesInBox
  /** Best mix of the last box at the best prices: one kind per tenant. */
  readonly kinds: Int32Array
  /** Lower bounds of that mix's totals. */
  readonly totals: Float64Array = new Float64Array(mixTotals.length)
  /** Best mix at the prices being tried, as indices into `mixes`. */
  readonly #chosen: Int32Array
  readonly #knapsack: ShareKnapsack
  readonly #value: Float64Array
  readonly #kindOfUnits: Int32Array
  /** Unused amount of each resource: the slope of the bound along its price. */
  readonly #left: Float64Array
  readonly #trial: Float64Array

  constructor(problem: SearchProblem, bounds: MixBounds) {
    const { totalUnits, maxTenants } = problem
    this.mixes = new MixesInBox(problem, bounds)
    this.kinds = new Int32Array(maxTenants)
    this.#chosen = new Int32Array(maxTenants)
    this.#knapsack = new ShareKnapsack(maxTenants, totalUnits)
    this.#value = new Float64Array(totalUnits + 1)
    this.#kindOfUnits = new Int32Array(totalUnits + 1)
    this.#left = new Float64Array(this.mixes.rows)
    this.#trial = new Float64Array(this.mixes.rows)
  }

  /**
   * @param prices initial prices of the resources; replaced by the best found
   * @returns weighted samples/s; -Infinity if the box has no mix
   */
  bound(box: MixBox, prices: Float64Array): number {
    this.mixes.enter(box)
    let least = this.#dual(box.tenants, prices)
    this.#keepChosen(box)
    const trial = this.#trial
    const left = this.#left
    trial.set(prices)
    let reach = FIRST_REACH
    for (let step = 0; step < STEPS; step++) {
      let square = 0
      for (let row = 0; row < left.length; row++) {
        // A price of 0 cannot fall.
        if (trial[row] === 0 && left[row]! > 0) left[row] = 0
        square += left[row]! * left[row]!
      }
      if (square < 1e-12 || least <= 0) break
      const move = (reach * least) / square
      for (let row = 0; row < left.length; row++) trial[row] = Math.max(0, trial[row]! - move * left[row]!)
      const found = this.#dual(box.tenants, trial)
      if (found < least) {
        least = found
        prices.set(trial)
        this.#keepChosen(box)
      } else reach *= SHORTER
    }
    return least
  }

  #keepChosen(box: MixBox): void {
    const { kinds, totals, mixes } = this
    totals.fill(0)
    for (let j = 0; j < box.tenants; j++) {
      const i = this.#chosen[j]!
      kinds[j] = mixes.kind[i]!
      for (let total = 0; total < totals.length; total++) totals[total]! += mixes.addsAtLeast(i, total, box)
    }
  }

  /** Value of the dual at given prices. */
  #dual(tenants: number, prices: Float64Array): number {
    const { mixes } = this
    const priced = mixes.pricedRows(prices)
    const value = this.#value.fill(Number.NEGATIVE_INFINITY)
    for (let i = 0; i < mixes.count; i++) {
      const worth = mixes.worth(i, prices, priced)
      const units = mixes.units[i]!
      if (worth > value[units]!) {
        value[units] = worth
        this.#kindOfUnits[units] = i
      }
    }
    let sum = this.#knapsack.solve(value, tenants)
    const left = this.#left
    left.set(mixes.limits)
    for (let row = 0; row < left.length; row++) sum += prices[row]! * left[row]!
    for (let j = 0; j < tenants; j++) {
      const i = this.#kindOfUnits[this.#knapsack.chosen[j]!]!
      this.#chosen[j] = i
      mixes.use(i, prices, left)
    }
    return sum
  }
}
