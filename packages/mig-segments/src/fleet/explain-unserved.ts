import { PctodlError } from '@pctodl/platform'
import type { ServiceObjective } from '../profile.js'
import { minHolding } from '../tail/ways.js'
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
  const uncapped = fleet.groups.map((group) => ({ ...group, boardCapW: Infinity }))
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

/** Largest factor by which the search lengthens an objective. */
const MAX_TIMES_LONGER = 1e6
/** Maximum number of plans for one service. */
const MAX_PLANS = 6

/**
 * Adds to an unserved service the shortest latency objective that it could meet (within a few percent). An estimate
 * proposes objectives, and a plan must confirm one. Returns the service unchanged if no objective is found.
 *
 * @param kept whether a plan for this service alone meets its objective
 */
export async function withKeepable(
  service: UnservedService,
  fleet: CheckedFleet,
  gate: FleetGate,
  kept: (objective: ServiceObjective) => Promise<boolean>,
): Promise<UnservedService> {
  if (service.reason !== 'latency') return service
  const { model, ratePerS, latencyMs: fromMs } = service
  const within = (latencyMs: number): ServiceObjective => ({ model, ratePerS, latencyMs })
  const estimated = (latencyMs: number) => fleetRows(fleet, [within(latencyMs)], gate).length > 0
  const rounded = (ms: number) => Number(ms.toPrecision(4))
  const shortestMs = minHolding(fromMs, (ms) => 1.25 * ms, MAX_TIMES_LONGER * fromMs, 0.02, estimated)
  if (shortestMs === null) return service
  let could = rounded(1.0005 * shortestMs)
  for (let plans = 1; plans <= MAX_PLANS; plans++) {
    try {
      if (await kept(within(could))) return unserved(service, fleet, gate, could)
    } catch (error) {
      const code = error instanceof PctodlError ? error.code : ''
      // This service alone needs too many boards or iterations, so nothing is known about its objective.
      if (code === 'NO_PLAN' || code === 'INVALID_INPUT') return service
      // With a longer objective fewer boards may suffice, so the search goes on.
      if (code !== 'TOO_FEW_GPUS') throw error
    }
    // The objective grows by 5 %, then by 5 % twice, four times and so on.
    could = rounded(1.05 ** (2 ** (plans - 1)) * could)
  }
  return service
}
