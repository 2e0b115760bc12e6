import { mean } from '@pctodl/numerics'
import { assertColocation, type Colocation, membersKey, throughputSum } from '../colocation.js'
import { assertInput } from '../input-checks.js'
import type { Workload } from '../workload.js'

/** Retained throughput of one workload beside given co-runners. */
export interface TrainingRow {
  /** Index of the workload. */
  readonly own: number
  /** Indices of the co-runners, ascending. */
  readonly others: readonly number[]
  /** Index of its colocation; rows of a colocation are consecutive. */
  readonly colocation: number
  /** Number of members that this row represents: above 1 if a workload occurs more than once. */
  readonly count: number
  /** Logarithm of the kept share per doubling of the number of members: `log(kept share) / log2(members)`. */
  readonly exponent: number
}

export interface TrainingRows {
  /** By name, ascending. */
  readonly workloads: readonly Workload[]
  readonly rows: readonly TrainingRow[]
}

/** Kept shares outside these values are measurement errors and are moved to them. */
export const MIN_KEPT = 0.02
const MAX_KEPT = 3

/** k identical jobs that take turns retain 1/k each. So log kept shares over this value are comparable across sizes. */
export const coRunnerExponent = (members: number): number => Math.log2(members)

/**
 * One row per distinct member of each colocation, in an order that depends only on names and values.
 *
 * @throws InvalidInputError for invalid colocations
 */
export function trainingRows(colocations: readonly Colocation[]): TrainingRows {
  assertInput(colocations.length >= 2, 'colocations', colocations.length, 'at least 2 to learn from')
  for (const colocation of colocations) assertColocation(colocation)
  const byName = new Map(colocations.flatMap(({ members }) => members.map((member) => [member.name, member] as const)))
  const workloads = [...byName.keys()].sort().map((name) => byName.get(name)!)
  const indexOf = new Map(workloads.map(({ name }, index) => [name, index]))
  const sorted = colocations
    .map((colocation) => ({ colocation, key: membersKey(colocation.members), sum: throughputSum(colocation) }))
    .sort((a, b) => {
      const bySize = a.colocation.members.length - b.colocation.members.length
      return bySize || (a.key === b.key ? a.sum - b.sum : a.key < b.key ? -1 : 1)
    })
  return { workloads, rows: sorted.flatMap(({ colocation }, g) => rowsOf(colocation, indexOf, g)) }
}

function rowsOf({ members, throughputs }: Colocation, indexOf: ReadonlyMap<string, number>, colocation: number) {
  const indices = members.map(({ name }) => indexOf.get(name)!)
  return [...new Set(indices)]
    .sort((a, b) => a - b)
    .map((own): TrainingRow => {
      const logs = indices
        .flatMap((other, rank) => (other === own ? [throughputs[rank]! / members[rank]!.exclusiveThroughput] : []))
        .map((kept) => Math.log(Math.min(MAX_KEPT, Math.max(MIN_KEPT, kept))))
        .sort((a, b) => a - b)
      const others = [...indices]
      others.splice(others.indexOf(own), 1)
      return {
        own,
        others: others.sort((a, b) => a - b),
        colocation,
        count: logs.length,
        exponent: mean(logs) / coRunnerExponent(members.length),
      }
    })
}

/** Returns the first row of each colocation and the row after its last. */
export function colocationSpans(rows: readonly TrainingRow[]): (readonly [begin: number, end: number])[] {
  const spans: (readonly [number, number])[] = []
  for (let begin = 0; begin < rows.length; ) {
    let end = begin + 1
    while (end < rows.length && rows[end]!.colocation === rows[begin]!.colocation) end++
    spans.push([begin, end])
    begin = end
  }
  return spans
}

export function namesOfRow(workloads: readonly Workload[], { own, others }: TrainingRow): string[] {
  return [own, ...others].map((index) => workloads[index]!.name)
}
