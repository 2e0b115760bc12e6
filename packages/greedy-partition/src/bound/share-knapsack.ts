/**
 * The best way to give a number of tenants shares of the board: `value[u]` is what a tenant with u units is worth, -Infinity where there is none.
 * Reuses its tables from call to call.
 */
export class ShareKnapsack {
  /** Units of each tenant of the best way found. */
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

  /** What exactly so many tenants, at most as many as units, are worth together at most; -Infinity where no shares of them fit. */
  solve(value: Float64Array, tenants: number): number {
    const width = this.#totalUnits + 1
    const best = this.#best
    const slack = this.#totalUnits - tenants
    for (let j = 1; j <= tenants; j++) {
      // Every tenant takes a unit at least, those before and those that follow too.
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
