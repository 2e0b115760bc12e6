import { InvalidInputError, PctodlError, UnknownNameError } from '@pctodl/platform'
import { batchTimeMs, type KeptShareSource, memoryOf } from './group-judge.js'

/** Requirements of one model in a shared instance. */
export interface InstanceDemand {
  /** Name of the workload in `source.workloads`. */
  readonly workload: string
  /** Minimum throughput, samples/s. */
  readonly ratePerS: number
  /** Maximum mean batch time, ms. */
  readonly batchTimeMs: number
}

/** Models that may share an instance, with their expected performance. */
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

/** Maximum number of candidate groups; more are an error. */
const MAX_CANDIDATES = 100_000

/**
 * Returns all groups of models that are expected to meet their objectives in one MIG instance. Each model occurs at
 * most once; groups of one are included. The groups are the columns of a packing problem. Instances isolate memory and
 * multiprocessors, so only the members of an instance slow each other down. `source` must be fitted to workloads
 * measured, alone and together, in an instance of that profile.
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
  if (!(memoryGib > 0)) throw new InvalidInputError('memoryGib', memoryGib, 'above 0')
  if (!Number.isInteger(maxMembers) || maxMembers < 1) {
    throw new InvalidInputError('maxMembers', maxMembers, 'an integer of at least 1')
  }
  const places = placesOf(source, demands)
  const groups: InstanceGroup[] = []
  let looked = 0
  const extend = (members: readonly number[], from: number) => {
    for (let i = from; i < demands.length; i++) {
      const grown = [...members, i]
      const workloads = grown.map((member) => source.workloads[places[member]!]!)
      if (memoryOf(workloads) > memoryGib) continue
      if (++looked > MAX_CANDIDATES) {
        throw new PctodlError(
          'TOO_MANY_GROUPS',
          `${demands.length} models in groups of up to ${maxMembers}: more than ${MAX_CANDIDATES} candidates; allow fewer members`,
        )
      }
      const kept = source.keptShares(grown.map((member) => places[member]!))
      const throughputsPerS = workloads.map(({ exclusiveThroughput }, k) => exclusiveThroughput * kept[k]!)
      const batchTimesMs = workloads.map((workload, k) => batchTimeMs(workload, kept[k]!))
      const slack = Math.min(
        ...grown.map((member, k) => 1 - demands[member]!.ratePerS / throughputsPerS[k]!),
        ...grown.map((member, k) => 1 - batchTimesMs[k]! / demands[member]!.batchTimeMs),
      )
      if (slack >= 0) {
        groups.push({
          workloads: workloads.map(({ name }) => name),
          throughputsPerS,
          batchTimesMs,
          memoryGib: memoryOf(workloads),
          slack,
        })
      }
      if (grown.length < maxMembers) extend(grown, i + 1)
    }
  }
  extend([], 0)
  return groups.sort((a, b) => b.workloads.length - a.workloads.length || b.slack - a.slack)
}

function placesOf({ workloads }: KeptShareSource, demands: readonly InstanceDemand[]): number[] {
  const names = workloads.map(({ name }) => name)
  const seen = new Set<string>()
  return demands.map(({ workload, ratePerS, batchTimeMs: maxMs }) => {
    const place = names.indexOf(workload)
    if (place < 0) throw new UnknownNameError('workload', workload, names)
    if (seen.has(workload)) throw new InvalidInputError('demands', workload, 'one demand per workload')
    seen.add(workload)
    if (!(ratePerS >= 0 && ratePerS < Infinity)) {
      throw new InvalidInputError(`${workload}: ratePerS`, ratePerS, 'a number of at least 0')
    }
    if (!(maxMs > 0)) throw new InvalidInputError(`${workload}: batchTimeMs`, maxMs, 'above 0')
    return place
  })
}
