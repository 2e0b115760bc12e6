import { type GroupPower, groupsForInstance, type KeptShareSource, parseWorkloadName } from '@pctodl/colocation'
import type { MigSlot } from '@pctodl/platform'
import { check } from '../check.js'
import type { ProfilePoint } from '../profile.js'

/**
 * Fraction of their throughput that models retain, and power, if they share a MIG instance of one profile with one
 * process each.
 */
export interface InstanceCoRunners {
  /** MIG profile of the instance, e.g. `2g.20gb`. */
  readonly profile: string
  /**
   * Workloads (named `<model>_batch<size>-inf`) as measured alone in an instance of this profile, and the fraction of
   * that throughput that each member of a group retains. If the fractions are uncertain, give lower bounds.
   */
  readonly source: KeptShareSource
  /** Power that a group adds to an idle board, W; required for power limits. */
  readonly powerW?: GroupPower
  /** SM clock of the measurement, MHz; absent if the board's points have none. */
  readonly smClockMhz?: number
  /** Maximum number of models in one instance, 2 to 4. Default 2. */
  readonly maxMembers?: number
  /** Memory that the members may use together, GiB. Default: nine tenths of the size in the profile's name. */
  readonly memoryGib?: number
}

/** One of the models that share an instance, measured with the others running. */
export interface SharedMember extends Pick<ProfilePoint, 'batchSize' | 'processThroughput' | 'latencyMs'> {
  readonly model: string
}

/** Different models in one instance, with one process each. */
export interface SharedPoint {
  readonly members: readonly SharedMember[]
  /** Power that the models add to an idle board while all run, W; absent if it was not measured. */
  readonly powerW?: number
}

/**
 * Returns the groups of two or more models whose batches finish in time in one shared instance.
 *
 * @param batchMs longest allowed batch time by model, ms; models without one are in no group
 * @throws InvalidInputError for numbers out of range
 */
export function sharedPoints(
  { source, powerW, maxMembers = 2, memoryGib }: InstanceCoRunners,
  { name }: MigSlot,
  batchMs: ReadonlyMap<string, number>,
): SharedPoint[] {
  check([2, 3, 4].includes(maxMembers), `co-runners of ${name}: maxMembers`, maxMembers, 'an integer from 2 to 4')
  const demands = source.workloads.flatMap((workload) => {
    const maxMs = batchMs.get(modelOf(workload.name))
    return maxMs === undefined ? [] : [{ workload: workload.name, ratePerS: 0, batchTimeMs: maxMs }]
  })
  const limits = { memoryGib: memoryGib ?? 0.9 * Number(/(\d+)gb/.exec(name)![1]), maxMembers }
  const byName = new Map(source.workloads.map((workload) => [workload.name, workload]))
  return groupsForInstance(source, demands, limits).flatMap(({ workloads, throughputsPerS, batchTimesMs }) => {
    const models = workloads.map(modelOf)
    if (workloads.length < 2 || new Set(models).size < models.length) return []
    const measured = workloads.map((workload) => byName.get(workload)!)
    const kept = measured.map(({ exclusiveThroughput }, i) => throughputsPerS[i]! / exclusiveThroughput)
    return [
      {
        members: models.map((model, i) => ({
          model,
          batchSize: measured[i]!.batchSize,
          processThroughput: throughputsPerS[i]!,
          latencyMs: batchTimesMs[i]!,
        })),
        ...(powerW && { powerW: powerW(measured, kept) }),
      },
    ]
  })
}

function modelOf(workload: string): string {
  return parseWorkloadName(workload).model
}
