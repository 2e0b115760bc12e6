import type { Workload } from '../workload.js'
import { companyExponent } from './training-rows.js'

/**
 * Slowdown of each workload by each other, and by larger companies as if these did no more together than one by one: what a
 * member loses per doubling of the company is then the mean of what it loses beside each.
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

  /** The most is kept beside those that are mildest one by one. */
  mostKept(own: number, others: readonly number[], company: number): number {
    const mildest = [...others].sort((a, b) => this.keptBeside(own, b) - this.keptBeside(own, a)).slice(0, company)
    return this.keptShares([own, ...mildest])[0]!
  }
}
