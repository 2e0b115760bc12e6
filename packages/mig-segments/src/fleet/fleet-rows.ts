import { type InstancePoint, latencyGateMs, type ServiceObjective, throughputOf } from '../profile.js'
import { type StatedTraffic, underErrors } from '../tail/stated-traffic.js'
import { roomOf, type TimesLate } from '../tail/until-kept.js'
import {
  type Dispatch,
  type Placeable,
  placeablesOf,
  rateInTime,
  sharedWays,
  splitBurstiness,
  splitWays,
} from '../tail/ways.js'
import type { CheckedFleet } from './check-fleet.js'
import { type SharedPoint, sharedPoints } from './shared-points.js'

/** Decides whether a measured point meets an objective. */
export type FleetGate =
  | { readonly kind: 'latency'; readonly latencyShare?: number }
  | {
      readonly kind: 'tail'
      readonly traffic: StatedTraffic
      readonly dispatch: Dispatch
      readonly times?: TimesLate
    }

/** One of the models that run in an instance. */
export interface RowPart {
  /** Index of the objective. */
  readonly service: number
  readonly model: string
  readonly point: Omit<InstancePoint, 'powerW'>
  /** Rate answered in time, requests/s. */
  readonly ratePerS: number
}

/** One way to use an instance: a variable of the integer program. */
export interface FleetRow {
  readonly lane: number
  /** Index in `MigGeometry.profiles`. */
  readonly profile: number
  /** One model, or several that share the instance. */
  readonly parts: readonly RowPart[]
  /** Power that it adds to an idle board, W; absent if it was not measured. */
  readonly powerW?: number
  /** Index of the service's way to divide its requests. All rows that a service uses belong to one way. Default 0. */
  readonly way?: number
}

/** A measured point, and where in the fleet an instance can use it. */
interface Candidate extends Placeable {
  readonly lane: number
  readonly profile: number
  /** The point as measured. In `point`, throughput and latency have been made consistent. */
  readonly measured: InstancePoint
}

/**
 * Returns the points that meet each objective, and the groups of models that meet theirs in a shared instance. A point
 * is left out if another in the same instance answers at least as many requests with no more power. Without power
 * limits or several clocks, only the fastest point of each instance remains.
 *
 * @param which `best`: every way to divide a service's requests over instances. `one-way`: one way, so that running
 *   instances may stay. `all`: one way, and no points are left out
 */
export function fleetRows(
  fleet: CheckedFleet,
  objectives: readonly ServiceObjective[],
  gate: FleetGate,
  which: 'best' | 'one-way' | 'all' = 'best',
): FleetRow[] {
  const frugal = fleet.limited || fleet.lanes.length > fleet.groups.length
  const roomW = ({ lane }: Pick<FleetRow, 'lane'>) => {
    const { group, idleW } = fleet.lanes[lane]!
    return fleet.groups[group]!.boardCapW - idleW
  }
  const within = (rows: readonly FleetRow[]) => rows.filter((row) => (row.powerW ?? 0) <= roomW(row))
  const own = objectives.flatMap((objective, service) => {
    const ways = waysOf(candidatesOf(fleet, objective.model), objective, gate, which === 'best').map((rated) => {
      const rows = within(
        rated.map(({ of: { lane, profile, measured: point }, ratePerS }): FleetRow => {
          const watts = point.powerW === undefined ? {} : { powerW: point.powerW }
          return { lane, profile, parts: [{ service, model: objective.model, point, ratePerS }], ...watts }
        }),
      )
      if (which === 'all') return rows
      const places = new Map<string, FleetRow[]>()
      for (const row of rows) {
        const at = `${row.lane} ${row.profile}`
        places.set(at, [...(places.get(at) ?? []), row])
      }
      return [...places.values()].flatMap((each) => best(each, frugal))
    })
    // Power limits may have removed all rows of a way.
    const possible = ways.filter((rows) => rows.length > 0)
    return possible.flatMap((rows, way) => rows.map((row) => ({ ...row, way })))
  })
  return [
    ...own,
    ...sharedRows(fleet, objectives, gate).flatMap((rows) =>
      which === 'all' ? within(rows) : undominated(within(rows), objectives, frugal),
    ),
  ]
}

function candidatesOf({ lanes, groups }: CheckedFleet, model: string): Candidate[] {
  return lanes.flatMap(({ group, profiles }, lane) => {
    const points = profiles.filter((profile) => profile.model === model).flatMap((profile) => profile.points)
    return groups[group]!.geometry.profiles.flatMap(({ name, computeSlices }, profile) => {
      const ran = points.filter((point) => point.profile === name && point.processThroughput > 0)
      return placeablesOf(`${lane} ${profile}`, computeSlices, ran).map((of, i) => ({
        ...of,
        lane,
        profile,
        measured: ran[i]!,
      }))
    })
  })
}

interface Rated {
  readonly of: Candidate
  readonly ratePerS: number
}

/** For each way to divide a service's requests over its instances, the rate that each instance answers in time. */
function waysOf(
  candidates: readonly Candidate[],
  objective: ServiceObjective,
  gate: FleetGate,
  several: boolean,
): Rated[][] {
  const { model, ratePerS, latencyMs } = objective
  if (gate.kind === 'latency') {
    const gateMs = latencyGateMs(latencyMs, gate.latencyShare)
    const fitting = candidates.filter(({ measured }) => measured.latencyMs < gateMs)
    return [fitting.map((of) => ({ of, ratePerS: throughputOf(of.measured) }))]
  }
  const room = roomOf(gate.times, model)
  if (!room) return []
  const { burstiness = 1 } = gate.traffic
  const hard = underErrors({ model, ratePerS: ratePerS * room.margin, latencyMs }, gate.traffic)
  const goal = { ...hard, burstiness, maxLate: room.maxLate }
  const fitting = candidates.filter(({ point }) => point.latencyMs < hard.latencyMs)
  const taken = (ways: ReturnType<typeof sharedWays>) =>
    ways.map((way) => way.map(({ of, share }) => ({ of: of as Candidate, ratePerS: share * ratePerS })))
  if (gate.dispatch === 'shared') return taken(sharedWays(fitting, goal))
  const alone = { ...goal, burstiness: splitBurstiness(burstiness) }
  const whole = fitting.flatMap((of): Rated[] => {
    const inTime = (rateInTime(of, alone) * ratePerS) / hard.ratePerS
    return inTime > 0 ? [{ of, ratePerS: inTime }] : []
  })
  return [whole, ...(several ? taken(splitWays(fitting, goal)) : [])].filter((way) => way.length > 0)
}

/**
 * Groups of models that share an instance, by lane and profile. None if services have one common queue for all
 * instances.
 */
function sharedRows(fleet: CheckedFleet, objectives: readonly ServiceObjective[], gate: FleetGate): FleetRow[][] {
  if (gate.kind === 'tail' && gate.dispatch === 'shared') return []
  return fleet.lanes.flatMap(({ group, coRunners }, lane) =>
    fleet.groups[group]!.geometry.profiles.map((slot, profile) =>
      coRunners
        .filter((each) => each.profile === slot.name)
        .flatMap((each) => sharedPoints(each, slot, batchTimeLimits(objectives, gate)))
        .flatMap((point): FleetRow[] => {
          const parts = ratedMembers(point, objectives, slot.name, gate)
          const { powerW } = point
          return parts ? [{ lane, profile, parts, ...(powerW !== undefined && { powerW }) }] : []
        }),
    ),
  )
}

/**
 * Points of one service in one instance that are Pareto-optimal in rate and power; only the fastest point if power does
 * not matter.
 */
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

/** Pareto-optimal groups of models. A rate above a service's objective counts only as much as the objective. */
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

/** Longest batch time that each model's objective allows, ms. */
function batchTimeLimits(objectives: readonly ServiceObjective[], gate: FleetGate): Map<string, number> {
  return new Map(
    objectives.map(({ model, latencyMs }) => [
      model,
      gate.kind === 'latency' ? latencyGateMs(latencyMs, gate.latencyShare) : latencyMs,
    ]),
  )
}

/** Rates that the members of a group answer in time, each from its own queue; null if a member answers none. */
function ratedMembers(
  { members }: SharedPoint,
  objectives: readonly ServiceObjective[],
  profile: string,
  gate: FleetGate,
): RowPart[] | null {
  const parts = members.map(({ model, ...measured }): RowPart => {
    const service = objectives.findIndex((objective) => objective.model === model)
    const point: InstancePoint = { profile, processes: 1, ...measured }
    // With co-runners, only the full batch was measured. A smaller one is assumed to take as long.
    const [of] = placeablesOf(profile, 0, [point]).map((each) => ({ ...each, lane: 0, profile: 0, measured: point }))
    const [way] = waysOf([of!], objectives[service]!, gate, false)
    return { service, model, point, ratePerS: way?.[0]?.ratePerS ?? 0 }
  })
  return parts.every(({ ratePerS }) => ratePerS > 0) ? parts.sort((a, b) => a.service - b.service) : null
}
