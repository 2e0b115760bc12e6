import { sum } from '@pctodl/numerics'
import { assertInput, isPositive } from './input-checks.js'
import { assertWorkload, type Workload } from './workload.js'

/** Workloads that run on one board at the same time. A workload may occur twice; the order has no meaning. */
export type Members = readonly Workload[]

/** A measured colocation. */
export interface Colocation {
  readonly members: Members
  /** Throughput of each member while all run, samples/s, in the order of `members`. */
  readonly throughputs: readonly number[]
  /** Mean power of the board while they run, W; absent if it was not measured. */
  readonly powerW?: number
}

/** @throws InvalidInputError naming the members and the field */
export function assertColocation({ members, throughputs, powerW }: Colocation): void {
  const label = membersLabel(members)
  assertInput(members.length >= 2, 'members', label, 'at least two workloads')
  const count = throughputs.length
  assertInput(count === members.length, `${label}: throughputs`, count, `one per member (${members.length})`)
  const isPower = powerW === undefined || isPositive(powerW)
  assertInput(isPower, `${label}: powerW`, powerW, 'a number of watts above 0, or none')
  for (const [i, member] of members.entries()) {
    assertWorkload(member)
    const throughput = throughputs[i]!
    assertInput(isPositive(throughput), `${label}: throughput of ${member.name}`, throughput, 'from 1e-15 to 1e15')
  }
}

/** Sum of the members' throughputs, samples/s. This is the target value of the published study. */
export function throughputSum({ throughputs }: Pick<Colocation, 'throughputs'>): number {
  return sum(throughputs)
}

/** Share of its exclusive throughput that each member retains: 1 is undisturbed. */
export function keptShares({ members, throughputs }: Colocation): number[] {
  return members.map((member, i) => throughputs[i]! / member.exclusiveThroughput)
}

export function membersLabel(members: Members): string {
  return members.map(({ name }) => name).join(' + ')
}

/** Key of a multiset of workloads, independent of their order. */
export function membersKey(members: Members): string {
  return members
    .map(({ name }) => name)
    .sort()
    .join('\n')
}

export function contains(members: Members, name: string): boolean {
  return members.some((member) => member.name === name)
}
