import type { Workload } from '../workload.js'
import { companyExponent } from './training-rows.js'

/**
 * Predicted slowdown of each workload by each other. What a member loses beside several is, per doubling of the company, the
 * mean of what it loses beside each, so this table holds the predictions for colocations of any size.
 */
export class SlowdownTable {
  readonly workloads: readonly Workload[]
  readonly #exponents: readonly Float64Array[]

  /** @param exponents `log(kept share)` of the workload of the row beside that of the column */
  constructor(workloads: readonly Workload[], exponents: readonly Float64Array[]) {
    this.workloads = workloads
    this.#exponents = exponents
  }

  /** Part of its throughput alone that a workload keeps beside another, by their places in `workloads`. */
  keptBeside(own: number, other: number): number {
    return Math.exp(this.#exponents[own]![other]!)
  }

  /** The same for all members of a colocation, given by their places in `workloads`. */
  keptShares(members: readonly number[]): number[] {
    if (members.length === 1) return [1]
    const factor = companyExponent(members.length) / (members.length - 1)
    return members.map((own, rank) => {
      let sum = 0
      members.forEach((other, otherRank) => {
        if (otherRank !== rank) sum += this.#exponents[own]![other]!
      })
      return Math.exp(factor * sum)
    })
  }
}
