import type { ServiceObjective } from '../profile.js'
import type { CheckedFleet } from './check-fleet.js'
import type { FleetBoard, FleetSegment } from './place-fleet.js'

/** Why a service is not in the plan. */
export type UnservedReason = 'no-profile' | 'never-ran' | 'power' | 'latency'

export interface UnservedService extends ServiceObjective {
  readonly reason: UnservedReason
  /** The problem and its remedy. */
  readonly message: string
  /** A latency objective that a plan for this service alone meets at its rate, ms; absent if none is known. */
  readonly keepableMs?: number
}

export interface ServedService extends ServiceObjective {
  readonly segments: number
  /** Compute slices of its segments. An instance that models share counts in full for each of them. */
  readonly gpcs: number
  /** Items/s of all its segments with full batches; at least `ratePerS`. */
  readonly capacity: number
}

export interface FleetPlan {
  /** Boards in use. */
  readonly boards: readonly FleetBoard[]
  readonly served: readonly ServedService[]
  readonly unserved: readonly UnservedService[]
  /** Sum of the prices of the boards in use. */
  readonly cost: number
  /** No plan can cost less than this. If it equals `cost`, this plan is proved cheapest. */
  readonly lowerBoundCost: number
  /** Power of all boards at full load, W; NaN if the power of any instance was not measured. */
  readonly powerW: number
  /** Power of all boards at the planned rates, W, if each instance gets its share of its service's requests. */
  readonly meanPowerW: number
  /** Lower bound on the power of plans of this cost, W (with `tail`, of those that the estimate allows); 0 if unknown. */
  readonly lowerBoundPowerW: number
  /** Least number of compute slices that any plan of this cost uses; 0 if the plan minimises power instead. */
  readonly lowerBoundSlices: number
}

/** Sum of the rates that segments answer in time, by model, requests/s. */
export function answeredBy(segments: readonly Pick<FleetSegment, 'model' | 'ratePerS'>[]): Map<string, number> {
  const rates = new Map<string, number>()
  for (const { model, ratePerS } of segments) rates.set(model, (rates.get(model) ?? 0) + ratePerS)
  return rates
}

/** A plan's boards and what follows from them. */
export function totalsOf(
  { groups }: CheckedFleet,
  boards: readonly FleetBoard[],
  objectives: readonly ServiceObjective[],
  unserved: readonly UnservedService[],
  lowerBoundCost: number,
): Omit<FleetPlan, 'lowerBoundPowerW' | 'lowerBoundSlices'> {
  const segments = boards.flatMap((board) => board.segments)
  const served = objectives.map((objective) => {
    const own = segments.filter(({ model }) => model === objective.model)
    const gpcs = own.reduce((sum, { profile }) => sum + Number.parseInt(profile, 10), 0)
    const capacity = own.reduce((sum, { throughput }) => sum + throughput, 0)
    return { ...objective, segments: own.length, gpcs, capacity }
  })
  const cost = boards.reduce((sum, { group }) => sum + groups[group]!.price, 0)
  return {
    ...{ boards, served, unserved, cost },
    lowerBoundCost: Math.min(cost, lowerBoundCost),
    powerW: boards.reduce((sum, { powerW }) => sum + powerW, 0),
    meanPowerW: meanPowerOf(boards, served),
  }
}

/** Power at the planned rates, W. An instance's own power counts for the fraction of time in which it works. */
function meanPowerOf(boards: readonly FleetBoard[], served: readonly ServiceObjective[]): number {
  const answered = answeredBy(boards.flatMap(({ segments }) => segments))
  const share = new Map(served.map(({ model, ratePerS }) => [model, ratePerS / answered.get(model)!]))
  return boards.reduce((sum, { powerW, segments }) => {
    const waiting = segments.reduce((watts, { model, ratePerS, throughput, powerW: own = 0 }) => {
      return watts + own * Math.max(0, 1 - (share.get(model)! * ratePerS) / throughput)
    }, 0)
    return sum + powerW - waiting
  }, 0)
}
