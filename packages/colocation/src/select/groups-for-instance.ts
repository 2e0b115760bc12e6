import { PctodlError, UnknownNameError } from '@pctodl/platform'
import { assertInput, assertInteger } from '../input-checks.js'
import { multisetsOf } from './exact-groups.js'
import { batchTimeMs, type KeptShareSource, memoryOf } from './group-judge.js'

export interface InstanceDemand {
  /** Name of the workload in `source.workloads`. */
  readonly workload: string
  /** Minimum throughput, samples/s. */
  readonly ratePerS: number
  /** Maximum mean batch time, ms. */
  readonly batchTimeMs: number
}

export interface InstanceGroup {
  /** Names, in the order of the demands. */
  readonly workloads: readonly string[]
  /** samples/s of each */
  readonly throughputsPerS: readonly number[]
  /** Mean batch time of each, ms; usable as service time in a queueing bound. */
  readonly batchTimesMs: readonly number[]
  readonly memoryGib: number
  /** Relative margin of the member that is closest to missing one of its objectives: 0.1 is a tenth. */
  readonly slack: number
}

const MAX_CANDIDATES = 100_000

/**
 * Returns all groups of models, each at most once, that are expected to meet their objectives in one MIG instance: the
 * columns of a packing problem. Instances isolate memory and multiprocessors, so only the members of an instance slow
 * each other down. `source` must be fitted to workloads measured, alone and together, in an instance of that profile.
 *
 * @returns the largest groups first, then those with more slack; empty if no model meets its objectives even alone
 * @throws InvalidInputError for invalid demands; UnknownNameError for a workload that is not in the source; PctodlError
 * `TOO_MANY_GROUPS` above 100 000 candidates
 */
export function groupsForInstance(
  source: KeptShareSource,
  demands: readonly InstanceDemand[],
  { memoryGib, maxMembers }: { readonly memoryGib: number; readonly maxMembers: number },
): InstanceGroup[] {
  assertInput(memoryGib > 0, 'memoryGib', memoryGib, 'above 0')
  assertInteger('maxMembers', maxMembers)
  const places = placesOf(source, demands)
  const workloadsOf = (members: readonly number[]) => members.map((member) => source.workloads[places[member]!]!)
  const once = new Map(demands.map((_, member) => [member, 1]))
  const fits = (members: readonly number[]) => memoryOf(workloadsOf(members)) <= memoryGib
  const groups = multisetsOf(once, 1, maxMembers, MAX_CANDIDATES, fits)
  const asked = `${demands.length} models in groups of up to ${maxMembers}`
  const problem = `${asked}: more than ${MAX_CANDIDATES} candidates; allow fewer members`
  if (groups === null) throw new PctodlError('TOO_MANY_GROUPS', problem)
  return groups
    .map((members): InstanceGroup => {
      const workloads = workloadsOf(members)
      const kept = source.keptShares(members.map((member) => places[member]!))
      const throughputsPerS = workloads.map(({ exclusiveThroughput }, k) => exclusiveThroughput * kept[k]!)
      const batchTimesMs = workloads.map((workload, k) => batchTimeMs(workload, kept[k]!))
      const slack = members.flatMap((member, k) => [
        1 - demands[member]!.ratePerS / throughputsPerS[k]!,
        1 - batchTimesMs[k]! / demands[member]!.batchTimeMs,
      ])
      const names = workloads.map(({ name }) => name)
      const [memoryGib, least] = [memoryOf(workloads), Math.min(...slack)]
      return { workloads: names, throughputsPerS, batchTimesMs, memoryGib, slack: least }
    })
    .filter(({ slack }) => slack >= 0)
    .sort((a, b) => b.workloads.length - a.workloads.length || b.slack - a.slack)
}

function placesOf({ workloads }: KeptShareSource, demands: readonly InstanceDemand[]): number[] {
  const names = workloads.map(({ name }) => name)
  const seen = new Set<string>()
  return demands.map(({ workload, ratePerS, batchTimeMs: maxMs }) => {
    const place = names.indexOf(workload)
    if (place < 0) throw new UnknownNameError('workload', workload, names)
    assertInput(!seen.has(workload), 'demands', workload, 'one demand per workload')
    seen.add(workload)
    const isRate = ratePerS >= 0 && ratePerS < Infinity
    assertInput(isRate, `${workload}: ratePerS`, ratePerS, 'a number of at least 0')
    assertInput(maxMs > 0, `${workload}: batchTimeMs`, maxMs, 'above 0')
    return place
  })
}
