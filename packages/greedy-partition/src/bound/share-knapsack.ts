/**
 * Best assignment of shares to a number of tenants: `value[u]` is the value of a tenant with u units, -Infinity if
 * there is none. Its tables are reused between calls.
 */
export class ShareKnapsack {
  /** Units of each tenant in the best assignment found. */
  readonly chosen: Uint16Array
  readonly #totalUnits: number
  readonly #best: Float64Array
  readonly #choice: Uint16Array

  constructor(maxTenants: number, totalUnits: number) {
    this.#totalUnits = totalUnits
    this.chosen = new Uint16Array(maxTenants)
    this.#best = new Float64Array((maxTenants + 1) * (totalUnits + 1))
    this.#choice = new Uint16Array(this.#best.length)
  }

  /** Maximum total value of exactly this many tenants (at most one per unit); -Infinity if none fits. */
  solve(value: Float64Array, tenants: number): number {
    const width = this.#totalUnits + 1
    const best = this.#best
    const slack = this.#totalUnits - tenants
    for (let j = 1; j <= tenants; j++) {
      // Every tenant takes at least one unit, including those before and after this one.
      for (let sum = j; sum <= j + slack; sum++) {
        let most = Number.NEGATIVE_INFINITY
        let choice = 0
        const before = (j - 1) * width + sum
        for (let units = 1; units <= sum - j + 1; units++) {
          const found = best[before - units]! + value[units]!
          if (found > most) {
            most = found
            choice = units
          }
        }
        best[j * width + sum] = most
        this.#choice[j * width + sum] = choice
      }
    }
    const total = best[tenants * width + this.#totalUnits]!
    for (let j = tenants, sum = this.#totalUnits; j > 0; j--) {
      const units = this.#choice[j * width + sum]!
      this.chosen[j - 1] = units
      sum -= units
    }
    return total
  }
}
