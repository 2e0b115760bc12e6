import type { ServiceObjective } from '../profile.js'
import { minKept } from '../tail/keepable.js'
import type { CheckedFleet } from './check-fleet.js'
import type { UnservedReason, UnservedService } from './fleet-plan.js'
import { type FleetGate, fleetRows } from './fleet-rows.js'

/**
 * Says why a service is not in the plan.
 *
 * @param keepableMs an objective that could be met; null if none is known
 */
export function unserved(
  { model, ratePerS, latencyMs }: ServiceObjective,
  fleet: CheckedFleet,
  gate: FleetGate,
  keepableMs: number | null,
): UnservedService {
  const objective = { model, ratePerS, latencyMs }
  const because = (reason: UnservedReason, what: string): UnservedService => ({
    ...{ ...objective, reason, message: `${model}${what}` },
    ...(keepableMs !== null && { keepableMs }),
  })
  const profiles = fleet.lanes.flatMap((lane) => lane.profiles).filter((profile) => profile.model === model)
  if (profiles.length === 0) {
    return because('no-profile', ' has no profile: no instance is known to run it; measure it first')
  }
  const ran = profiles.flatMap(({ points }) => points).filter((point) => point.processThroughput > 0)
  if (ran.length === 0) return because('never-ran', ' ran in no profiled instance; profile smaller batches')
  const uncapped = fleet.groups.map((group) => ({ ...group, boardCapW: Number.POSITIVE_INFINITY }))
  if (fleet.limited && fleetRows({ ...fleet, groups: uncapped }, [objective], gate).length > 0) {
    const what = `: every instance that keeps ${latencyMs} ms draws more than a board's power limit leaves above idle`
    return because('power', `${what}; raise the limit`)
  }
  const fastest = ran.reduce((a, b) => (b.latencyMs < a.latencyMs ? b : a))
  const what = gate.kind === 'tail' ? 'answers 99 of 100 requests' : 'computes a batch'
  const remedy = keepableMs === null ? 'ask for more, or measure smaller batches' : `${keepableMs} ms could be kept`
  return because(
    'latency',
    `: no instance ${what} in time for ${latencyMs} ms; its fastest batch takes ` +
      `${fastest.latencyMs.toPrecision(4)} ms (${fastest.profile}, ${fastest.batchSize}x${fastest.processes}); ${remedy}`,
  )
}

/**
 * Adds to each service that is not served an objective that could be met.
 *
 * @param kept whether a plan for this service alone meets its objective
 */
export async function withKeepable(
  missed: readonly UnservedService[],
  fleet: CheckedFleet,
  gate: FleetGate,
  kept: (objective: ServiceObjective) => Promise<boolean>,
): Promise<UnservedService[]> {
  const named: UnservedService[] = []
  for (const service of missed) {
    const estimated = (longer: ServiceObjective) => fleetRows(fleet, [longer], gate).length > 0
    const keepableMs = service.reason === 'latency' ? await minKept(service, service.latencyMs, estimated, kept) : null
    named.push(keepableMs === null ? service : unserved(service, fleet, gate, keepableMs))
  }
  return named
}
