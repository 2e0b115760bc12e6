import { latencyGateMs } from '../latency-gate.js'
import { isSegmentSize } from '../mig-geometry.js'
import { type ProfilePoint, type ServiceObjective, type ServiceProfile, throughputOf } from '../profile.js'
import { rateInTime, splitBurstiness } from '../tail/tail-options.js'
import { withBatchRates } from '../tail/tail-points.js'
import type { CheckedFleet, CheckedGroup, FleetPoint } from './fleet.js'

/** How it is judged whether a point keeps an objective. */
export type FleetGate =
  | { readonly kind: 'latency'; readonly latencyShare?: number }
  | { readonly kind: 'tail'; readonly burstiness: number }

/** One way to serve a service with an instance: a variable of the program. */
export interface FleetRow {
  /** Place of the objective. */
  readonly service: number
  readonly group: number
  /** Place in `MigGeometry.profiles`. */
  readonly profile: number
  readonly point: FleetPoint
  /** Requests/s that one instance answers in time. */
  readonly ratePerS: number
  /** Watts that it adds to an idle board; 0 where they were not measured. */
  readonly powerW: number
}

/**
 * The points that keep each objective, without those of which another in the same instance answers no less with no more watts. Where nothing
 * limits watts only the best of each instance is left.
 */
export function fleetRows(fleet: CheckedFleet, objectives: readonly ServiceObjective[], gate: FleetGate): FleetRow[] {
  return objectives.flatMap((objective, service) =>
    fleet.groups.flatMap((group, g) =>
      group.geometry.profiles.flatMap(({ name }, profile) => {
        const rows = ratedPoints(group, objective, name, gate)
          .map(({ point, ratePerS }) => ({ service, group: g, profile, point, ratePerS, powerW: point.powerW ?? 0 }))
          .filter(({ powerW }) => powerW <= group.boardCapW - group.idleW)
          .sort((a, b) => b.ratePerS - a.ratePerS || a.powerW - b.powerW || a.point.batchSize - b.point.batchSize)
        if (!fleet.limited) return rows.slice(0, 1)
        let least = Number.POSITIVE_INFINITY
        return rows.filter(({ powerW }) => {
          if (powerW >= least) return false
          least = powerW
          return true
        })
      }),
    ),
  )
}

function ratedPoints(
  { profiles }: CheckedGroup,
  { model, latencyMs }: ServiceObjective,
  name: string,
  gate: FleetGate,
): { point: FleetPoint; ratePerS: number }[] {
  const ofProfile = profiles
    .filter((profile) => profile.model === model)
    .flatMap(({ points }) => points)
    .filter((point) => point.profile === name && point.processThroughput > 0)
  const sized = ofProfile.map((point) => withSize(point))
  if (gate.kind === 'latency') {
    const gateMs = latencyGateMs(latencyMs, gate.latencyShare)
    return ofProfile.flatMap((point, i) =>
      point.latencyMs < gateMs ? [{ point, ratePerS: throughputOf(sized[i]!) }] : [],
    )
  }
  const rated: ServiceProfile = withBatchRates({ model, points: sized })
  return ofProfile.flatMap((point, i) => {
    const same = rated.points[i]!
    if (same.latencyMs >= latencyMs) return []
    const ratePerS = rateInTime(rated, same, latencyMs, splitBurstiness(gate.burstiness))
    return ratePerS > 0 ? [{ point, ratePerS }] : []
  })
}

/** The point as those of boards with one profile for each size have it. */
function withSize({ profile, ...point }: FleetPoint): ProfilePoint {
  const sizeGpcs = Number.parseInt(profile, 10)
  if (!isSegmentSize(sizeGpcs)) throw new RangeError(`${profile} is no MIG profile`)
  return { ...point, sizeGpcs }
}
