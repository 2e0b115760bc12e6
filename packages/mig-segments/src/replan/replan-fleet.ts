import { groupBy, PctodlError } from '@pctodl/platform'
import { check, checkInteger } from '../check.js'
import { type CheckedFleet, checkFleet, laneOf } from '../fleet/check-fleet.js'
import type { Fleet } from '../fleet/fleet.js'
import { answeredBy, type FleetPlan, totalsOf } from '../fleet/fleet-plan.js'
import { type FleetGate, fleetRows } from '../fleet/fleet-rows.js'
import { type FleetBoard, type FleetSegment, freePlace, placeBoards } from '../fleet/place-fleet.js'
import {
  assertSplit,
  checkedByRequests,
  DEFAULT_MAX_ITERATIONS,
  type FleetOptions,
  planOnce,
  ROOMS,
} from '../fleet/plan-fleet.js'
import { type RunningBoard, solveProgram } from '../fleet/program.js'
import { instancesOf, type MappedBoard, type MappedFleetSegment, segmentConflict } from '../map/fleet-map.js'
import type { ServiceObjective } from '../profile.js'
import {
  type FleetChanges,
  type FleetInstance,
  type FleetStep,
  fleetMigrationOrder,
  type Migration,
} from './fleet-migration.js'

export interface FleetReplanOptions extends FleetOptions {
  /**
   * Whether to move instances until the boards cost as little as those of a plan from scratch. Default false: they may
   * cost as much as the boards now in use.
   */
  readonly consolidate?: boolean
}

/** Largest weight of boards (0.4) and missing capacity (0.1) together, if a created instance weighs 1. */
const BESIDE_MOVES = 0.51

/** The next map of a fleet, and the steps to it. */
export interface FleetReplan extends Omit<FleetPlan, 'lowerBoundPowerW' | 'lowerBoundSlices'> {
  /** Cost of a plan from scratch for the same objectives. */
  readonly freshCost: number
  /** Instances created in new places. */
  readonly created: number
  /** Number of instances that stay and in which other processes start. */
  readonly restarted: number
  readonly removed: number
  readonly kept: number
  /** Lower bound of `created + restarted / 2` for any plan that costs no more than this one. */
  readonly lowerBoundMoves: number
  /** Steps in an order that keeps services up; see `FleetStep.shortfalls`. */
  readonly steps: readonly FleetStep[]
}

/**
 * Changes a running fleet to new objectives with the fewest instances created, by an integer program. Boards in use
 * keep their places; new instances start on boards in use or on other boards. If the running map serves the objectives
 * and costs no more than a plan from scratch, nothing changes. If no change is found within `maxIterations`, a plan
 * from scratch is placed on the running boards that are most similar to it; `lowerBoundMoves` then shows how far the
 * number of moves may be from the optimum.
 *
 * @param current the running map
 * @throws InvalidInputError for a map that does not fit the fleet: boards that the fleet lacks or the map names twice,
 *   overlapping instances
 * @throws PctodlError `NOT_SUPPORTED` if two groups have boards of the same type; also the errors of `planFleet`
 */
export async function replanFleet(
  current: readonly MappedBoard[],
  fleet: Fleet,
  objectives: readonly ServiceObjective[],
  options: FleetReplanOptions = {},
): Promise<FleetReplan> {
  const checked = checkFleet(fleet)
  const keys = checked.groups.map(({ geometry }) => geometry.key)
  const twice = keys.find((key, g) => keys.indexOf(key) < g)
  if (twice !== undefined) {
    const what = `a map does not say which of two groups of ${twice} a board is of; plan anew`
    throw new PctodlError('NOT_SUPPORTED', what)
  }
  assertSplit(options)
  assertMap(current, checked)
  const { maxIterations = DEFAULT_MAX_ITERATIONS, consolidate = false } = options
  return checkedByRequests(fleet, options, async (gate) => {
    const fresh = await planOnce(checked, objectives, gate, maxIterations)
    return change(checked, current, fresh, gate, { consolidate, maxIterations })
  })
}

function assertMap(boards: readonly MappedBoard[], { groups }: CheckedFleet): void {
  const places = new Set<string>()
  const keys = groups.map(({ geometry }) => geometry.key)
  for (const { gpu, node, index, segments } of boards) {
    const group = groups[keys.indexOf(gpu)]
    check(group !== undefined, 'current map', gpu, `boards of the fleet: ${keys.join(', ')}`)
    const place = `${gpu}, node ${node}, GPU ${index}`
    checkInteger(`current map, ${gpu}: node`, node, 0)
    checkInteger(`current map, ${gpu}: index`, index, 0)
    const { boardsPerNode } = group
    check(index < boardsPerNode, `current map, ${gpu}: index`, index, `below ${boardsPerNode}, the boards of a node`)
    check(!places.has(place), 'current map', place, 'each board once')
    places.add(place)
    segments.forEach((segment, i) => {
      const { field, expected } = segmentConflict(group.geometry, segment, segments.slice(0, i)) ?? {}
      check(!field, `current map: ${place}, ${field}`, field && segment[field], `${expected}`)
    })
  }
}

async function change(
  fleet: CheckedFleet,
  current: readonly MappedBoard[],
  fresh: FleetPlan,
  gate: FleetGate,
  { consolidate, maxIterations }: { consolidate: boolean; maxIterations: number },
): Promise<FleetReplan> {
  const rows = fleetRows(fleet, fresh.served, gate, 'one-way')
  const running = runningBoards(fleet, current, fresh.served, gate)
  const inUse = running.reduce((sum, { group }) => sum + fleet.groups[group]!.price, 0)
  const maxCost = consolidate ? fresh.cost : Math.max(inUse, fresh.cost)
  const standing = standingBoards(fleet, running)
  const asIs = standing && inUse <= maxCost && serves(fleet, standing, fresh.served) ? standing : null
  const keepPerS = keptRates(fresh.served, running)
  const next = (boards: readonly FleetBoard[], minMoves: number): FleetReplan => {
    const { created, restarted, removed, kept, steps } = stepsTo(fleet, running, boards, keepPerS)
    return {
      ...totalsOf(fleet, boards, fresh.served, fresh.unserved, fresh.lowerBoundCost),
      freshCost: fresh.cost,
      ...{ created: created.length, restarted: restarted.length, removed: removed.length, kept: kept.length },
      lowerBoundMoves: Math.min(created.length + restarted.length / 2, minMoves),
      steps,
    }
  }
  if (asIs && inUse <= fresh.cost * (1 + 1e-9)) return next(asIs, 0)
  let minMoves = 0
  for (const room of ROOMS) {
    const problem = { fleet, objectives: fresh.served, rows, running, maxIterations, room }
    const counts = await solveProgram({ ...problem, goal: { kind: 'moves', maxCost }, keepPerS })
    if (!counts.instances) break
    // With less than the full power, the bound does not hold for all plans. The weights of boards and missing capacity
    // are subtracted from it, and the rest is rounded up to half instances.
    if (room === 1) minMoves = Math.max(0, Math.ceil(2 * (counts.bound - BESIDE_MOVES)) / 2)
    const boards = placeBoards(fleet, rows, counts, running)
    const found = boards && next(boards, minMoves)
    // If the program ran out of iterations, its solution may move instances that could have stayed.
    if (found && !(asIs && found.created + found.restarted > 0)) return found
    if (found) break
  }
  return next(asIs ?? laidOver(fleet, fresh.boards, running), minMoves)
}

/** Returns boards in use with their instances, and says which of these may stay. */
export function runningBoards(
  fleet: CheckedFleet,
  current: readonly MappedBoard[],
  objectives: readonly ServiceObjective[],
  gate: FleetGate,
): RunningBoard[] {
  const rows = groupBy(fleetRows(fleet, objectives, gate, 'all'), ({ lane, profile, parts }) => {
    return `${lane} ${profile} ${processesOf(parts.map(({ model, point }) => ({ ...point, model })))}`
  })
  return current.map((board) => {
    const lane = laneOf(fleet, board)
    const group = fleet.groups.findIndex(({ geometry }) => geometry.key === board.gpu)
    const { profiles } = fleet.groups[group]!.geometry
    const instances = instancesOf(board.segments).map(({ profile: name, start, members }) => {
      const at = profiles.findIndex((each) => each.name === name)
      const row = rows.get(`${lane} ${at} ${processesOf(members)}`)?.[0]
      return { profile: profiles[at]!, start, ...(row && { row }) }
    })
    return { ...board, group, ...(lane >= 0 && { lane }), instances }
  })
}

/** A key of what runs in an instance. */
function processesOf(members: readonly Pick<MappedFleetSegment, 'model' | 'batchSize' | 'processes'>[]): string {
  const each = members.map(({ model, batchSize, processes }) => `${model} ${batchSize} ${processes}`)
  return each.sort().join()
}

/** Requests/s that each service must be able to answer during a change: its objective or, if lower, its capacity. */
export function keptRates(
  served: readonly ServiceObjective[],
  running: readonly RunningBoard[],
): ReadonlyMap<string, number> {
  const now = answeredBy(running.flatMap(({ instances }) => instances.flatMap(({ row }) => row?.parts ?? [])))
  return new Map(served.map(({ model, ratePerS }) => [model, Math.min(ratePerS, now.get(model) ?? 0)]))
}

/** Returns the boards as they run now; null if an instance misses its objective. */
function standingBoards(fleet: CheckedFleet, running: readonly RunningBoard[]): FleetBoard[] | null {
  if (running.some(({ instances }) => instances.some(({ row }) => !row))) return null
  const kept = running.map(({ instances }) => instances.map(() => true))
  return placeBoards(fleet, [], { instances: [], boards: [], kept, placed: running.map(() => []) }, running)
}

/** Whether boards that keep the power limits serve all rates, and are as many as the fleet has. */
export function serves(
  fleet: CheckedFleet,
  boards: readonly FleetBoard[],
  objectives: readonly ServiceObjective[],
): boolean {
  const answered = answeredBy(boards.flatMap(({ segments }) => segments))
  return (
    objectives.every(({ model, ratePerS }) => (answered.get(model) ?? 0) >= ratePerS * (1 - 1e-9)) &&
    fleet.groups.every(({ boards: most }, g) => boards.filter(({ group }) => group === g).length <= most)
  )
}

/**
 * Moves the boards of a plan from scratch to the places of running boards, so that many instances can stay. On nodes
 * with a power limit, only the arrangement of the plan is known to be within the limit.
 */
export function laidOver(
  { groups }: CheckedFleet,
  fresh: readonly FleetBoard[],
  current: readonly MappedBoard[],
): FleetBoard[] {
  const isFixed = (gpu: string) => groups.some(({ geometry, nodeCapW }) => geometry.key === gpu && nodeCapW < Infinity)
  const placed = fresh.filter(({ gpu }) => isFixed(gpu))
  const open = current.filter(({ gpu }) => !isFixed(gpu))
  const left: FleetBoard[] = []
  for (const board of fresh) {
    if (isFixed(board.gpu)) continue
    const staying = open.map((running) => stayingOf(board, running))
    const most = Math.max(0, ...staying)
    const [place] = most === 0 ? [] : open.splice(staying.indexOf(most), 1)
    if (place) placed.push({ ...board, node: place.node, index: place.index })
    else left.push(board)
  }
  for (const board of left) {
    placed.push({ ...board, ...freePlace(groups[board.group]!, board.powerW, placed, current)! })
  }
  return placed
}

/** Number of running instances that a planned board also has: same place, processes and clock. */
function stayingOf(board: FleetBoard, running: MappedBoard): number {
  if (board.gpu !== running.gpu || board.smClockMhz !== running.smClockMhz) return 0
  const key = (segment: MappedFleetSegment) => [segment.profile, segment.start, processesOf([segment])].join()
  const standing = new Set(running.segments.map(key))
  return board.segments.filter((segment) => standing.has(key(segment))).length
}

/** Returns the changes from running boards to others, and their order, which keeps the rates `keepPerS`. */
export function stepsTo(
  fleet: CheckedFleet,
  running: readonly RunningBoard[],
  boards: readonly FleetBoard[],
  keepPerS: ReadonlyMap<string, number>,
): FleetChanges & Migration {
  const before = running.flatMap((board) =>
    instancesOf(board.segments).map(({ members, ...place }, i): FleetInstance => {
      const { row } = board.instances[i]!
      const powerW = row?.powerW ?? measuredW(fleet, board.lane, place.profile, members)
      // An instance that may not stay answers no requests in time.
      const segments = members.map((segment): FleetSegment => {
        const part = row?.parts.find(({ model }) => model === segment.model)
        const own = { throughput: 0, ratePerS: part?.ratePerS ?? 0, latencyMs: part?.point.latencyMs ?? Number.NaN }
        return { ...segment, ...own, powerW: powerW / members.length }
      })
      return { ...at(board), ...place, segments }
    }),
  )
  const after = boards.flatMap((board) =>
    instancesOf(board.segments).map(({ members, ...place }) => ({ ...at(board), ...place, segments: members })),
  )
  const place = (instance: FleetInstance) => [...Object.values(at(instance)), instance.profile, instance.start].join()
  const old = new Map(before.map((instance) => [place(instance), instance]))
  const kept: FleetInstance[] = []
  const restarted: FleetChanges['restarted'][number][] = []
  const created: FleetInstance[] = []
  for (const instance of after) {
    const standing = old.get(place(instance))
    old.delete(place(instance))
    if (!standing) created.push(instance)
    else if (processesOf(standing.segments) === processesOf(instance.segments)) kept.push(instance)
    else restarted.push({ before: standing, after: instance })
  }
  const changes = { kept, restarted, created, removed: [...old.values()] }
  return { ...changes, ...fleetMigrationOrder(changes, fleet, keepPerS) }
}

/** Highest measured power of the models that run in such an instance, each alone, W; 0 if it was not measured. */
function measuredW(
  { lanes }: CheckedFleet,
  lane: number | undefined,
  profile: string,
  members: MappedBoard['segments'],
): number {
  const own = lane === undefined ? [] : lanes[lane]!.profiles
  return members.reduce((sum, { model }) => {
    const points = own.find((each) => each.model === model)?.points.filter((point) => point.profile === profile) ?? []
    return sum + points.reduce((most, { powerW = 0 }) => Math.max(most, powerW), 0)
  }, 0)
}

function at({ gpu, node, index, smClockMhz }: MappedBoard) {
  return { gpu, node, index, ...(smClockMhz !== undefined && { smClockMhz }) }
}
