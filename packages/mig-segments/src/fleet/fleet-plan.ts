import type { ServiceObjective } from '../profile.js'
import type { FleetBoard } from './place-fleet.js'

/** Why a service is not in the plan. */
export type UnservedReason = 'no-profile' | 'never-ran' | 'latency'

export interface UnservedService extends ServiceObjective {
  readonly reason: UnservedReason
  /** What is wrong and what would help. */
  readonly message: string
  /** The latency objective that a plan for this service alone keeps at its rate, ms, where one is known. */
  readonly keepableMs?: number
}

export interface FleetPlan {
  /** Boards in use. */
  readonly boards: readonly FleetBoard[]
  readonly served: readonly (ServiceObjective & { readonly capacity: number; readonly segments: number })[]
  readonly unserved: readonly UnservedService[]
  /** Sum of the prices of the boards in use. */
  readonly cost: number
  /** No plan costs less. Equal to `cost`: proved. */
  readonly lowerBoundCost: number
  /** Watts of all boards while everything runs; NaN where some were not measured. */
  readonly powerW: number
  /** Watts at the planned rates, each service's requests spread by what its instances answer; NaN where some were not measured. */
  readonly meanPowerW: number
  /** No plan that costs as little draws less than `powerW`, of the points that `fleetRows` leaves; 0 where watts were not measured. */
  readonly lowerBoundPowerW: number
  /** No plan that costs as little has fewer compute slices in use; 0 where the plan has the least watts and not the fewest slices. */
  readonly lowerBoundSlices: number
}

/** While instances work their part of the time only, they draw that part. */
export function meanPowerOf(boards: readonly FleetBoard[], served: FleetPlan['served']): number {
  const share = new Map(served.map(({ model, ratePerS, capacity }) => [model, ratePerS / capacity]))
  return boards.reduce((sum, { powerW, segments }) => {
    const waiting = segments.reduce((watts, { model, ratePerS, throughput, powerW: own = 0 }) => {
      return watts + own * Math.max(0, 1 - (share.get(model)! * ratePerS) / throughput)
    }, 0)
    return sum + powerW - waiting
  }, 0)
}
