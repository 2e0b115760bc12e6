import { SeededRandom, shuffled } from '@pctodl/numerics'
import { InvalidInputError } from '@pctodl/platform'
import { assertColocation, type Colocation } from '../colocation.js'
import type { Workload } from '../workload.js'

/** What one workload kept beside certain others. */
export interface TrainingRow {
  /** Index of the workload. */
  readonly own: number
  /** Indices of those beside it. */
  readonly others: readonly number[]
  /** Index of the colocation in which it was measured. */
  readonly colocation: number
  /** Members of the colocation that this row stands for: more than one where the workload runs beside itself. */
  readonly count: number
  /** `log(kept share) / log2(members)`: what a member loses per doubling of the company, had all been alike. */
  readonly exponent: number
}

export interface TrainingRows {
  readonly workloads: readonly Workload[]
  readonly rows: readonly TrainingRow[]
}

/** Kept shares outside are errors of measurement; they are taken as these. */
const LEAST_KEPT = 0.02
const MOST_KEPT = 3

/**
 * `log2` of the number of members: k like jobs that take turns keep 1/k each, so the logarithm of what is kept grows by this,
 * and rows of pairs, triples and quadruples speak of one quantity.
 */
export function companyExponent(members: number): number {
  return Math.log2(members)
}

/**
 * One row per distinct member of each colocation.
 *
 * @param maxRows more rows than that are thinned by drawing colocations with `seed`
 * @throws InvalidInputError for colocations that cannot be
 */
export function trainingRows(colocations: readonly Colocation[], maxRows: number, seed: number): TrainingRows {
  if (colocations.length < 2) throw new InvalidInputError('colocations', colocations.length, 'at least 2 to learn from')
  const workloads: Workload[] = []
  const indexOf = new Map<string, number>()
  const index = (workload: Workload) => {
    const known = indexOf.get(workload.name)
    if (known !== undefined) return known
    indexOf.set(workload.name, workloads.length)
    workloads.push(workload)
    return workloads.length - 1
  }
  const rows: TrainingRow[] = []
  // In random order, so that the first so many are a fair sample of all.
  for (const [g, colocation] of shuffled(colocations, new SeededRandom(seed)).entries()) {
    assertColocation(colocation)
    const ofColocation = rowsOf(colocation, index, g)
    if (rows.length > 0 && rows.length + ofColocation.length > maxRows) break
    rows.push(...ofColocation)
  }
  return { workloads, rows }
}

function rowsOf({ members, throughputs }: Colocation, index: (workload: Workload) => number, colocation: number) {
  const indices = members.map(index)
  return [...new Set(indices)].map((own): TrainingRow => {
    const ranks = indices.flatMap((other, rank) => (other === own ? [rank] : []))
    const logs = ranks.map((rank) => {
      const kept = throughputs[rank]! / members[rank]!.exclusiveThroughput
      return Math.log(Math.min(MOST_KEPT, Math.max(LEAST_KEPT, kept)))
    })
    return {
      own,
      others: indices.filter((_, rank) => rank !== ranks[0]),
      colocation,
      count: ranks.length,
      exponent: logs.reduce((sum, log) => sum + log, 0) / ranks.length / companyExponent(members.length),
    }
  })
}
