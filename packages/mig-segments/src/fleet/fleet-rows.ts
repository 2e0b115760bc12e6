import { groupsForInstance, parseWorkloadName } from '@pctodl/colocation'
import { groupBy, type MigSlot } from '@pctodl/platform'
import { type InstancePoint, latencyGateMs, type ServiceObjective, throughputOf } from '../profile.js'
import { type StatedTraffic, underErrors } from '../tail/stated-traffic.js'
import {
  type Dispatch,
  type Placeable,
  placeablesOf,
  rateInTime,
  sharedWays,
  splitBurstiness,
  splitWays,
  type Way,
} from '../tail/ways.js'
import type { CheckedFleet } from './check-fleet.js'
import type { InstanceCoRunners } from './fleet.js'

/** Decides whether a measured point meets an objective. */
export type FleetGate =
  | { readonly kind: 'latency'; readonly latencyShare?: number | undefined }
  | {
      readonly kind: 'tail'
      readonly traffic: StatedTraffic
      readonly dispatch: Dispatch
      /** Number of times that each service was late in the check; Infinity for services that are no longer served. */
      readonly times?: ReadonlyMap<string, number>
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
  /** Index of a way to divide the service's requests; its rows together answer the whole rate. Default 0. */
  readonly way?: number
}

/** A measured point, and where in the fleet an instance can use it. */
interface Candidate extends Placeable {
  readonly lane: number
  readonly profile: number
  /** The point as measured. In `point`, throughput and latency have been made consistent. */
  readonly measured: InstancePoint
}

interface Rated {
  readonly of: Candidate
  readonly ratePerS: number
}

/**
 * Returns the points that meet each objective, and the groups of models that meet theirs in a shared instance. A point
 * is left out if another in the same instance answers at least as many requests with no more power.
 *
 * @param which `best`: every way to divide a service's requests over instances. `one-way`: one way, so that running
 *   instances may stay. `all`: one way, and no points are left out
 * @param frugal whether slower points that draw less power remain, not only the fastest one of each instance. Required
 *   if power limits or minimum power matter
 */
export function fleetRows(
  fleet: CheckedFleet,
  objectives: readonly ServiceObjective[],
  gate: FleetGate,
  which: 'best' | 'one-way' | 'all' = 'best',
  frugal: boolean = fleet.limited,
): FleetRow[] {
  const within = ({ lane, powerW = 0 }: FleetRow) => {
    const { group, idleW } = fleet.lanes[lane]!
    return powerW <= fleet.groups[group]!.boardCapW - idleW
  }
  const kept = (rows: readonly FleetRow[]) => {
    const possible = rows.filter(within)
    return which === 'all' ? possible : undominated(possible, frugal)
  }
  const own = objectives.flatMap((objective, service) => {
    const { model } = objective
    const ways = waysOf(candidatesOf(fleet, model), objective, gate, which === 'best').map((rated) => {
      const rows = rated.map(({ of: { lane, profile, measured: point }, ratePerS }): FleetRow => {
        const watts = point.powerW === undefined ? {} : { powerW: point.powerW }
        return { lane, profile, parts: [{ service, model, point, ratePerS }], ...watts }
      })
      return kept(rows)
    })
    // Power limits may have removed all rows of a way.
    return ways.filter((rows) => rows.length > 0).flatMap((rows, way) => rows.map((row) => ({ ...row, way })))
  })
  return [...own, ...kept(sharedRows(fleet, objectives, gate))]
}

function candidatesOf({ lanes, groups }: CheckedFleet, model: string): Candidate[] {
  return lanes.flatMap(({ group, profiles }, lane) => {
    const points = profiles.filter((profile) => profile.model === model).flatMap((profile) => profile.points)
    return groups[group]!.geometry.profiles.flatMap(({ name, computeSlices }, profile) => {
      const ran = points.filter((point) => point.profile === name && point.processThroughput > 0)
      const placeables = placeablesOf(`${lane} ${profile}`, computeSlices, ran)
      return placeables.map((of, i) => ({ ...of, lane, profile, measured: ran[i]! }))
    })
  })
}

/**
 * Returns the factor on the rate of a service that was late in the check, by the number of times. It grows each time,
 * because traffic may be far from the estimate.
 */
export function marginOf(late: number): number {
  return 1.03 ** ((late * (late + 1)) / 2)
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
  const late = gate.times?.get(model) ?? 0
  if (late === Infinity) return []
  const { burstiness = 1 } = gate.traffic
  const hard = underErrors({ model, ratePerS: ratePerS * marginOf(late), latencyMs }, gate.traffic)
  const goal = { ...hard, burstiness }
  const fitting = candidates.filter(({ point }) => point.latencyMs < hard.latencyMs)
  const taken = (ways: readonly Way<Candidate>[]) =>
    ways.map((way) => way.map(({ of, share }) => ({ of, ratePerS: share * ratePerS })))
  if (gate.dispatch === 'shared') return taken(sharedWays(fitting, goal))
  const alone = { ...goal, burstiness: splitBurstiness(burstiness) }
  const whole = fitting.flatMap((of): Rated[] => {
    const inTime = (rateInTime(of, alone) * ratePerS) / hard.ratePerS
    return inTime > 0 ? [{ of, ratePerS: inTime }] : []
  })
  return [whole, ...(several ? taken(splitWays(fitting, goal)) : [])].filter((way) => way.length > 0)
}

/** Groups of models that share an instance, by lane and profile. None if services have one queue for all instances. */
function sharedRows(fleet: CheckedFleet, objectives: readonly ServiceObjective[], gate: FleetGate): FleetRow[] {
  if (gate.kind === 'tail' && gate.dispatch === 'shared') return []
  return fleet.lanes.flatMap(({ group, coRunners }, lane) =>
    fleet.groups[group]!.geometry.profiles.flatMap((slot, profile) =>
      coRunners
        .filter((each) => each.profile === slot.name)
        .flatMap((each) => groupsOf(each, slot, objectives, gate).map((shared) => ({ lane, profile, ...shared }))),
    ),
  )
}

/** Groups of models whose batches finish in time in one shared instance, and the rate that each answers in time. */
function groupsOf(
  { source, powerW, maxMembers = 2 }: InstanceCoRunners,
  { name }: MigSlot,
  objectives: readonly ServiceObjective[],
  gate: FleetGate,
): Pick<FleetRow, 'parts' | 'powerW'>[] {
  const serviceOf = (workload: string) => {
    const { model } = parseWorkloadName(workload)
    return objectives.findIndex((objective) => objective.model === model)
  }
  const demands = source.workloads.flatMap((workload) => {
    const objective = objectives[serviceOf(workload.name)]
    if (!objective) return []
    const { latencyMs } = objective
    const batchTimeMs = gate.kind === 'latency' ? latencyGateMs(latencyMs, gate.latencyShare) : latencyMs
    return [{ workload: workload.name, ratePerS: 0, batchTimeMs }]
  })
  const limits = { memoryGib: 0.9 * Number(/(\d+)gb/.exec(name)![1]), maxMembers }
  const byName = new Map(source.workloads.map((workload) => [workload.name, workload]))
  return groupsForInstance(source, demands, limits).flatMap(({ workloads, throughputsPerS, batchTimesMs }) => {
    const services = workloads.map(serviceOf)
    if (workloads.length < 2 || new Set(services).size < services.length) return []
    const measured = workloads.map((workload) => byName.get(workload)!)
    const parts = services.map((service, i): RowPart => {
      const { model } = objectives[service]!
      const { batchSize } = measured[i]!
      const timed = { processThroughput: throughputsPerS[i]!, latencyMs: batchTimesMs[i]! }
      const point: InstancePoint = { profile: name, processes: 1, batchSize, ...timed }
      // With co-runners, only the full batch was measured. A smaller one is assumed to take as long.
      const [of] = placeablesOf(name, 0, [point]).map((each) => ({ ...each, lane: 0, profile: 0, measured: point }))
      const [way] = waysOf([of!], objectives[service]!, gate, false)
      return { service, model, point, ratePerS: way?.[0]?.ratePerS ?? 0 }
    })
    if (parts.some(({ ratePerS }) => ratePerS === 0)) return []
    const kept = measured.map(({ exclusiveThroughput }, i) => throughputsPerS[i]! / exclusiveThroughput)
    parts.sort((a, b) => a.service - b.service)
    return [{ parts, ...(powerW && { powerW: powerW(measured, kept) }) }]
  })
}

/**
 * Rows of the same models in the same kind of instance that are Pareto-optimal in rates and, if it matters, power. Of
 * equal rows, the one with the smallest batch remains.
 */
function undominated(rows: readonly FleetRow[], frugal: boolean): FleetRow[] {
  const watts = ({ powerW = 0 }: FleetRow) => (frugal ? powerW : 0)
  const beats = (a: FleetRow, b: FleetRow) =>
    watts(a) <= watts(b) && a.parts.every(({ ratePerS }, i) => ratePerS >= b.parts[i]!.ratePerS)
  const alike = groupBy(rows, ({ lane, profile, parts }) => [lane, profile, ...parts.map(({ model }) => model)].join())
  return [...alike.values()].flatMap((same) => {
    same.sort(
      ({ parts: [a], powerW: aW = 0 }, { parts: [b], powerW: bW = 0 }) =>
        b!.ratePerS - a!.ratePerS || aW - bW || a!.point.batchSize - b!.point.batchSize,
    )
    const isBeaten = (row: FleetRow, i: number) =>
      same.some((other, k) => beats(other, row) && (k < i || !beats(row, other)))
    return same.filter((row, i) => !isBeaten(row, i))
  })
}
