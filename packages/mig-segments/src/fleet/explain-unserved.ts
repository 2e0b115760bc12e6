import type { ServiceObjective } from '../profile.js'
import { leastKept } from '../tail/keepable.js'
import type { CheckedFleet } from './check-fleet.js'
import type { FleetPlan } from './fleet-plan.js'
import { type FleetGate, fleetRows } from './fleet-rows.js'

type Unserved = FleetPlan['unserved'][number]

/** Why a service is not in the plan of a fleet. @param keepableMs an objective that could be kept; null where none is known */
export function unserved(objective: ServiceObjective, gate: FleetGate['kind'], keepableMs: number | null): Unserved {
  const { model, latencyMs } = objective
  const what = gate === 'tail' ? 'answers 99 of 100 requests' : 'computes a batch'
  const remedy = keepableMs === null ? 'ask for more, or measure smaller batches' : `${keepableMs} ms could be kept`
  return {
    ...objective,
    message: `${model}: no instance of any board of the fleet ${what} in time for ${latencyMs} ms and within its watts; ${remedy}`,
    ...(keepableMs !== null && { keepableMs }),
  }
}

/**
 * Unserved services with the objectives that could be kept.
 *
 * @param kept whether a plan for this service alone serves it
 */
export async function withKeepable(
  missed: readonly Unserved[],
  fleet: CheckedFleet,
  gate: FleetGate,
  kept: (objective: ServiceObjective) => Promise<boolean>,
): Promise<Unserved[]> {
  const named: Unserved[] = []
  for (const { model, ratePerS, latencyMs } of missed) {
    const objective = { model, ratePerS, latencyMs }
    const estimated = (longer: ServiceObjective) => fleetRows(fleet, [longer], gate).length > 0
    const keepableMs = await leastKept(objective, latencyMs, estimated, kept)
    named.push(unserved(objective, gate.kind, keepableMs))
  }
  return named
}
