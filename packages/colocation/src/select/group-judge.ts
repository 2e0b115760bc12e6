import { sum } from '@pctodl/numerics'
import { UnknownNameError } from '@pctodl/platform'
import type { Members } from '../colocation.js'
import { assertInput } from '../input-checks.js'
import type { Workload } from '../workload.js'

/**
 * Gives the kept share of each member of a group: its throughput in the group, divided by its throughput alone. A
 * `SlowdownModel` predicts it, or measurements state it. Members are indices into `workloads`.
 */
export interface KeptShareSource {
  readonly workloads: readonly Workload[]
  keptShares(members: readonly number[]): readonly number[]
  /** Standard deviation of the logarithm of a group's value; null if unknown. Default: values count as certain. */
  spreadOf?(members: readonly number[], objective: Objective): number | null
}

/**
 * How a group is valued. `throughput`: sum of the throughputs, samples/s; fast jobs dominate. `speedup`: sum of the
 * fractions of the solo throughput that the jobs keep; all jobs count equally.
 */
export type Objective = 'throughput' | 'speedup'

export interface GroupLimits {
  /** Device memory, GiB. Default: none. */
  readonly memoryGib?: number
  /** Minimum share of its exclusive throughput that every member must retain. Default 0. */
  readonly minKeptShare?: number
  /** Maximum mean batch time with co-runners, ms, by workload name. Default: no limit. */
  readonly batchTimesMs?: Readonly<Record<string, number>>
  /** Cap on the group's power, and a model of that power. Default: none. */
  readonly power?: { readonly capW: number; readonly of: GroupPower }
}

/** Power of a group, W. */
export type GroupPower = (members: Members, keptShares: readonly number[]) => number

/** A group that meets the limits, and its value. */
export interface ColocationGroup {
  readonly members: Members
  readonly keptShares: readonly number[]
  readonly value: number
}

export class GroupJudge {
  readonly #objective: Objective
  readonly #limits: GroupLimits

  /** @throws InvalidInputError naming the limit */
  constructor(
    readonly source: KeptShareSource,
    objective: Objective,
    limits: GroupLimits,
  ) {
    const { memoryGib = 1, minKeptShare = 0, batchTimesMs = {}, power } = limits
    assertInput(memoryGib > 0, 'memoryGib', memoryGib, 'above 0')
    assertInput(minKeptShare >= 0 && minKeptShare <= 1, 'minKeptShare', minKeptShare, 'from 0 to 1')
    const byName = new Map(source.workloads.map((workload) => [workload.name, workload]))
    for (const [name, ms] of Object.entries(batchTimesMs)) {
      const workload = byName.get(name)
      if (!workload) throw new UnknownNameError('workload with a batch time', name, [...byName.keys()])
      const alone = batchTimeMs(workload, 1)
      assertInput(ms >= alone, `batch time of ${name}`, ms, `at least ${alone.toFixed(2)} ms, its time alone`)
    }
    assertInput(!power || power.capW > 0, 'power.capW', power?.capW, 'above 0')
    this.#objective = objective
    this.#limits = limits
  }

  /** @returns null for a group that violates a limit */
  judge(places: readonly number[]): ColocationGroup | null {
    const members = places.map((place) => this.source.workloads[place]!)
    const { memoryGib = Infinity, minKeptShare = 0, batchTimesMs = {}, power } = this.#limits
    if (memoryOf(members) > memoryGib) return null
    const keptShares = this.source.keptShares(places)
    const isSlow = (workload: Workload, i: number) =>
      keptShares[i]! < minKeptShare || batchTimeMs(workload, keptShares[i]!) > (batchTimesMs[workload.name] ?? Infinity)
    if (members.some(isSlow) || (power && power.of(members, keptShares) > power.capW)) return null
    return { members, keptShares, value: sum(keptShares.map((kept, i) => kept * this.weightOf(places[i]!))) }
  }

  /** Value of a workload that runs undisturbed, in the unit of the objective. */
  weightOf(place: number): number {
    return this.#objective === 'throughput' ? this.source.workloads[place]!.exclusiveThroughput : 1
  }
}

/** Mean batch time of a workload that retains this share of its exclusive throughput, ms. */
export function batchTimeMs({ batchSize, exclusiveThroughput }: Workload, keptShare: number): number {
  return (1000 * batchSize) / (exclusiveThroughput * keptShare)
}

export function memoryOf(members: Members): number {
  return sum(members.map(({ memoryGib }) => memoryGib))
}
