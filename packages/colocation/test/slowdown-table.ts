import type { KeptShareSource, Workload } from '../src/index.js'

/** Slowdowns of each workload by each other (`log(kept share)`), and of larger groups as if what others do was the mean of what each does. */
export function slowdownTable(workloads: readonly Workload[], exponents: readonly Float64Array[]): KeptShareSource {
  const keptShares = (members: readonly number[]) =>
    members.map((own, rank) => {
      const others = members.filter((_, i) => i !== rank)
      const sum = others.reduce((total, other) => total + exponents[own]![other]!, 0)
      return others.length === 0 ? 1 : Math.exp((Math.log2(members.length) / others.length) * sum)
    })
  return { workloads, keptShares }
}
