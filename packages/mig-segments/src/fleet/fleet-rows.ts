import { isSegmentSize } from '@pctodl/mig-deploy'
import { latencyGateMs } from '../latency-gate.js'
import { type ProfilePoint, type ServiceObjective, type ServiceProfile, throughputOf } from '../profile.js'
import { type StatedTraffic, underErrors } from '../tail/stated-traffic.js'
import { rateInTime, splitBurstiness } from '../tail/tail-options.js'
import { withBatchRates } from '../tail/tail-points.js'
import { roomOf, type TimesLate } from '../tail/until-kept.js'
import type { CheckedFleet } from './check-fleet.js'
import type { FleetPoint } from './fleet.js'
import type { Lane } from './lanes.js'
import { type SharedPoint, sharedPoints } from './shared-points.js'

/** How it is judged whether a point keeps an objective. */
export type FleetGate =
  | { readonly kind: 'latency'; readonly latencyShare?: number }
  | {
      readonly kind: 'tail'
      readonly traffic: StatedTraffic
      readonly times?: TimesLate
    }

/** What one model does in an instance. */
export interface RowPart {
  /** Place of the objective. */
  readonly service: number
  readonly point: Omit<FleetPoint, 'powerW'>
  /** Requests/s that it answers in time. */
  readonly ratePerS: number
}

/** One way to use an instance: a variable of the program. */
export interface FleetRow {
  readonly lane: number
  /** Place in `MigGeometry.profiles`. */
  readonly profile: number
  /** One model, or several that share the instance. */
  readonly parts: readonly RowPart[]
  /** Watts that it adds to an idle board; absent where they were not measured. */
  readonly powerW?: number
}

/**
 * The points that keep each objective, and the groups of models that do in one instance, without those of which another in the same instance
 * answers no less with no more watts. Where watts are neither limited nor a matter of clocks only the best of each instance is left.
 *
 * @param which `all`: without leaving any out
 */
export function fleetRows(
  fleet: CheckedFleet,
  objectives: readonly ServiceObjective[],
  gate: FleetGate,
  which: 'best' | 'all' = 'best',
): FleetRow[] {
  const frugal = fleet.limited || fleet.lanes.length > fleet.groups.length
  return fleet.lanes.flatMap((lane, l) => {
    const { geometry, boardCapW } = fleet.groups[lane.group]!
    return geometry.profiles.flatMap((slot, profile) => {
      const within = (rows: FleetRow[]) => rows.filter(({ powerW = 0 }) => powerW <= boardCapW - lane.idleW)
      const own = objectives.map((objective, service) => {
        const rows = ratedPoints(lane, objective, slot.name, gate).map(({ point, ratePerS }): FleetRow => {
          const { powerW } = point
          const watts = powerW === undefined ? {} : { powerW }
          return { ...{ lane: l, profile, parts: [{ service, point, ratePerS }] }, ...watts }
        })
        return which === 'all' ? within(rows) : best(within(rows), frugal)
      })
      const shared = lane.company
        .filter((company) => company.profile === slot.name)
        .flatMap((company) => sharedPoints(company, slot, batchTimeLimits(objectives, gate)))
        .flatMap((point): FleetRow[] => {
          const parts = ratedMembers(point, objectives, slot.name, gate)
          const { powerW } = point
          return parts ? [{ ...{ lane: l, profile, parts }, ...(powerW !== undefined && { powerW }) }] : []
        })
      return [...own.flat(), ...(which === 'all' ? within(shared) : undominated(within(shared), objectives, frugal))]
    })
  })
}

/** Of the ways of one service in one instance: those with fewer watts than all that answer as much, or the one that answers most. */
function best(rows: FleetRow[], frugal: boolean): FleetRow[] {
  const rate = ({ parts }: FleetRow) => parts[0]!.ratePerS
  const batch = ({ parts }: FleetRow) => parts[0]!.point.batchSize
  rows.sort((a, b) => rate(b) - rate(a) || (a.powerW ?? 0) - (b.powerW ?? 0) || batch(a) - batch(b))
  if (!frugal) return rows.slice(0, 1)
  let least = Number.POSITIVE_INFINITY
  return rows.filter(({ powerW = 0 }) => {
    if (powerW >= least) return false
    least = powerW
    return true
  })
}

/** More than a service's whole rate is worth no more than that. */
function undominated(
  rows: readonly FleetRow[],
  objectives: readonly ServiceObjective[],
  frugal: boolean,
): readonly FleetRow[] {
  const byModels = new Map<string, FleetRow[]>()
  const worth = ({ parts }: FleetRow) =>
    parts.map(({ service, ratePerS }) => Math.min(ratePerS, objectives[service]!.ratePerS))
  for (const row of rows) {
    const key = row.parts.map(({ service }) => service).join()
    const known = byModels.get(key) ?? []
    const beats = (a: FleetRow, b: FleetRow) => {
      const theirs = worth(b)
      return (!frugal || (a.powerW ?? 0) <= (b.powerW ?? 0)) && worth(a).every((each, i) => each >= theirs[i]!)
    }
    if (known.some((other) => beats(other, row))) continue
    byModels.set(key, [...known.filter((other) => !beats(row, other)), row])
  }
  return [...byModels.values()].flat()
}

/** Most time of a batch of each model, ms. */
function batchTimeLimits(objectives: readonly ServiceObjective[], gate: FleetGate): Map<string, number> {
  return new Map(
    objectives.map(({ model, latencyMs }) => [
      model,
      gate.kind === 'latency' ? latencyGateMs(latencyMs, gate.latencyShare) : latencyMs,
    ]),
  )
}

/** What the members of a group answer in time, each from a queue of its own; null where one answers nothing. */
function ratedMembers(
  { members }: SharedPoint,
  objectives: readonly ServiceObjective[],
  profile: string,
  gate: FleetGate,
): RowPart[] | null {
  const parts = members.map(({ model, ...measured }): RowPart => {
    const service = objectives.findIndex((objective) => objective.model === model)
    const point: FleetPoint = { profile, processes: 1, ...measured }
    // No batch in company was measured but the full one: a smaller one is taken to last as long.
    const ratePerS = rateOf([point], point, objectives[service]!, gate)
    return { service, point, ratePerS }
  })
  return parts.every(({ ratePerS }) => ratePerS > 0) ? parts.sort((a, b) => a.service - b.service) : null
}

function ratedPoints(
  { profiles }: Lane,
  objective: ServiceObjective,
  name: string,
  gate: FleetGate,
): { point: FleetPoint; ratePerS: number }[] {
  const ofProfile = profiles
    .filter((profile) => profile.model === objective.model)
    .flatMap(({ points }) => points)
    .filter((point) => point.profile === name && point.processThroughput > 0)
  return ofProfile.flatMap((point) => {
    const ratePerS = rateOf(ofProfile, point, objective, gate)
    return ratePerS > 0 ? [{ point, ratePerS }] : []
  })
}

/** Requests/s that an instance answers in time; 0 where none. @param points of this instance, which tell of smaller batches */
function rateOf(
  points: readonly FleetPoint[],
  point: FleetPoint,
  { model, latencyMs }: ServiceObjective,
  gate: FleetGate,
): number {
  if (gate.kind === 'latency') {
    return point.latencyMs < latencyGateMs(latencyMs, gate.latencyShare) ? throughputOf(point) : 0
  }
  const rated: ServiceProfile = withBatchRates({ model, points: points.map(withSize) })
  const same = rated.points[points.indexOf(point)]!
  if (same.latencyMs >= latencyMs) return 0
  const room = roomOf(gate.times, model)
  if (!room) return 0
  // What one instance answers in time under the stated errors.
  const hard = underErrors({ model, ratePerS: room.margin, latencyMs }, gate.traffic)
  if (same.latencyMs >= hard.latencyMs) return 0
  const burstiness = splitBurstiness(gate.traffic.burstiness ?? 1)
  return rateInTime(rated, same, hard.latencyMs, burstiness, room.mostLate) / hard.ratePerS
}

/** The point as those of boards with one profile for each size have it. */
export function withSize({ profile, ...point }: FleetPoint): ProfilePoint {
  const sizeGpcs = Number.parseInt(profile, 10)
  if (!isSegmentSize(sizeGpcs)) throw new RangeError(`${profile} is no MIG profile`)
  return { ...point, sizeGpcs }
}
