import { PctodlError } from '@pctodl/platform'
import { type CheckedFleet, checkFleet } from '../fleet/check-fleet.js'
import { coolDown, type OpenBoard } from '../fleet/cool-down.js'
import type { Fleet } from '../fleet/fleet.js'
import { type FleetPlan, totalsOf } from '../fleet/fleet-plan.js'
import { type FleetGate, type FleetRow, fleetRows } from '../fleet/fleet-rows.js'
import { boardAt, type FleetBoard, type FleetSegment, fillLane, instanceAt, segmentsOf } from '../fleet/place-fleet.js'
import {
  assertSplit,
  checkedByRequests,
  DEFAULT_MAX_ITERATIONS,
  type FleetOptions,
  planOnce,
} from '../fleet/plan-fleet.js'
import { type ProgramCounts, type RunningBoard, solveProgram } from '../fleet/program.js'
import type { MappedBoard } from '../map/fleet-map.js'
import type { ServiceObjective } from '../profile.js'
import { assertMap } from './assert-map.js'
import {
  type FleetChanges,
  type FleetInstance,
  type FleetStep,
  fleetMigrationOrder,
  keepWatts,
} from './fleet-migration.js'
import { freePlace, laidOver } from './fleet-places.js'
import { serves, standingBoards } from './standing-boards.js'

export interface FleetReplanOptions extends FleetOptions {
  /**
   * Whether to move instances until the boards cost as little as those of a plan from scratch. Default false: they may
   * cost as much as the boards now in use.
   */
  readonly consolidate?: boolean
}

/**
 * Largest weight in the objective of boards (0.4) and of missing capacity (0.1) together, if a created instance weighs
 * 1.
 */
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
  /** No plan of at most this cost creates fewer instances; restarts count half. */
  readonly lowerBoundMoves: number
  /** Steps in an order that keeps services up; see `FleetStep.shortfalls`. */
  readonly steps: readonly FleetStep[]
}

/** Fractions of the power above idle that are tried in turn, as in plans from scratch. */
const ROOMS = [1, 0.94, 0.85, 0.7]

/**
 * Changes a running fleet to new objectives with the fewest instances created, by an integer program. Boards in use
 * keep their places; new instances start beside those that stay, or on other boards. If the running map serves the
 * objectives and costs no more than a plan from scratch, nothing changes. If no change is found within `maxIterations`,
 * a plan from scratch is used and placed on the running boards that are most similar; `lowerBoundMoves` then shows how
 * far it may be from the optimum.
 *
 * @param current the running map
 * @throws InvalidInputError for a map that this fleet cannot run: boards that it lacks or has twice, overlapping
 *   instances
 * @throws PctodlError `NOT_SUPPORTED` for two groups of one type; also the errors of `planFleet`
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
    throw new PctodlError(
      'NOT_SUPPORTED',
      `a map does not say which of two groups of ${twice} a board is of; plan anew`,
    )
  }
  assertSplit(options)
  assertMap(current, checked)
  const { maxIterations = DEFAULT_MAX_ITERATIONS, consolidate = false } = options
  return checkedByRequests(fleet, options, async (gate) => {
    const fresh = await planOnce(checked, objectives, gate, maxIterations)
    return change(checked, current, fresh, gate, { consolidate, maxIterations })
  })
}

async function change(
  fleet: CheckedFleet,
  current: readonly MappedBoard[],
  fresh: FleetPlan,
  gate: FleetGate,
  { consolidate, maxIterations }: { consolidate: boolean; maxIterations: number },
): Promise<FleetReplan> {
  const rows = fleetRows(fleet, fresh.served, gate, 'one-way')
  const all = fleetRows(fleet, fresh.served, gate, 'all')
  const running = current.map((board) => runningBoard(fleet, board, all))
  const inUse = running.reduce((sum, { group }) => sum + fleet.groups[group]!.price, 0)
  const maxCost = consolidate ? fresh.cost : Math.max(inUse, fresh.cost)
  const standing = standingBoards(fleet, running)
  const asIs = standing && serves(fleet, standing, fresh.served) ? standing : null
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
    const goal = { kind: 'moves', maxCost } as const
    const counts = await solveProgram({ ...problem, goal, keepPerS })
    if (counts === 'infeasible' || !('instances' in counts)) break
    // With less than the full power, the bound does not hold for all plans. The weights of boards and missing capacity
    // are subtracted from it, and the rest is rounded up to half instances.
    if (room === 1) minMoves = Math.max(0, Math.ceil(2 * (counts.bound - BESIDE_MOVES)) / 2)
    const boards = nextBoards(fleet, running, rows, counts)
    const found = boards && next(boards, minMoves)
    // If the program ran out of iterations, its solution may move instances that could have stayed.
    if (found && !(asIs && inUse <= maxCost && found.created + found.restarted > 0)) return found
    if (found) break
  }
  return next(asIs && inUse <= maxCost ? asIs : laidOver(fleet, fresh.boards, running), minMoves)
}

/** The instances on a running board, and which of them may stay. */
export function runningBoard(
  { groups, lanes }: CheckedFleet,
  board: MappedBoard,
  rows: readonly FleetRow[],
): RunningBoard {
  const { gpu, smClockMhz, segments } = board
  const group = groups.findIndex(({ geometry }) => geometry.key === gpu)
  const { geometry } = groups[group]!
  const lane = lanes.findIndex((each) => each.group === group && each.smClockMhz === smClockMhz)
  const instances = placesOf(segments).map(({ profile, start, members }) => {
    const slot = geometry.profiles.findIndex(({ name }) => name === profile)
    const row = rows.find(
      ({ lane: of, profile: at, parts }) =>
        of === lane &&
        at === slot &&
        parts.length === members.length &&
        parts.every(({ model, point: { batchSize, processes } }) =>
          members.some((each) => each.model === model && each.batchSize === batchSize && each.processes === processes),
        ),
    )
    return { profile: geometry.profiles[slot]!, start, ...(row && { row }) }
  })
  return { ...board, group, ...(lane >= 0 && { lane }), instances }
}

function placesOf<T extends MappedBoard['segments'][number]>(segments: readonly T[]) {
  return [...new Set(segments.map(({ start }) => start))].map((start) => {
    const members = segments.filter((segment) => segment.start === start)
    return { start, profile: members[0]!.profile, members }
  })
}

/**
 * Requests/s that each service must be able to answer during a change, by model: its objective or, if that is lower,
 * its present capacity.
 */
export function keptRates(
  served: readonly ServiceObjective[],
  running: readonly RunningBoard[],
): ReadonlyMap<string, number> {
  const now = new Map<string, number>()
  for (const { model, ratePerS } of running.flatMap(({ instances }) =>
    instances.flatMap(({ row }) => row?.parts ?? []),
  )) {
    now.set(model, (now.get(model) ?? 0) + ratePerS)
  }
  return new Map(served.map(({ model, ratePerS }) => [model, Math.min(ratePerS, now.get(model) ?? 0)]))
}

/** Boards in use with their old and new instances, and further boards at free places; null if limits are exceeded. */
export function nextBoards(
  fleet: CheckedFleet,
  running: readonly RunningBoard[],
  rows: readonly FleetRow[],
  counts: ProgramCounts,
): FleetBoard[] | null {
  const inUse: (FleetBoard | undefined)[] = new Array(running.length)
  const others: OpenBoard[] = []
  for (const [l, lane] of fleet.lanes.entries()) {
    const group = fleet.groups[lane.group]!
    const { profiles } = group.geometry
    const standing = running.flatMap((board, b) => {
      if (board.lane !== l) return []
      const kept = board.instances.filter((_, i) => counts.kept[b]![i])
      const layout = counts.placed[b]!.map(({ profile, start }) => ({ profile: profiles[profile]!, start }))
      const places = profiles.map((profile) => layout.filter((each) => each.profile === profile).length)
      const open: OpenBoard = {
        ...{ lane: l, pattern: { counts: places, layout }, free: [...places], rows: [] },
        drawnW: kept.reduce((sum, { row }) => sum + (row!.powerW ?? 0), lane.idleW),
      }
      return [{ b, kept, open }]
    })
    const given = standing.map(({ open }) => open)
    const filled = fillLane(fleet, l, rows, counts, given)
    // Boards that are left without instances draw no power.
    const used = filled?.filter(
      (board) => board.rows.length > 0 || standing.some(({ open, kept }) => open === board && kept.length > 0),
    )
    if (!used || !coolDown(used, group.boardCapW)) return null
    others.push(...used.filter((board) => !given.includes(board)))
    for (const { b, kept, open } of standing) {
      const stays = kept.flatMap(({ profile, start, row }) => instanceAt(row!, profile.name, start))
      const segments = [...stays, ...segmentsOf(open, group)]
      if (segments.length > 0) inUse[b] = boardAt(fleet, l, running[b]!, segments)
    }
  }
  const boards = inUse.filter((board) => board !== undefined)
  if (!keepWatts(fleet, boards)) return null
  for (const board of others.sort((a, b) => b.drawnW - a.drawnW)) {
    const group = fleet.groups[fleet.lanes[board.lane]!.group]!
    const place = freePlace(group, board.drawnW, boards, running)
    if (!place) return null
    boards.push(boardAt(fleet, board.lane, place, segmentsOf(board, group)))
  }
  return boards
}

/**
 * Returns the changes from running boards to others, and their order.
 *
 * @param keepPerS requests/s that each service must be able to answer during the change
 */
export function stepsTo(
  fleet: CheckedFleet,
  running: readonly RunningBoard[],
  boards: readonly FleetBoard[],
  keepPerS: ReadonlyMap<string, number>,
): FleetChanges & { readonly steps: readonly FleetStep[] } {
  const before = running.flatMap((board) =>
    placesOf(board.segments).map(({ members, ...place }, i): FleetInstance => {
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
    placesOf(board.segments).map(
      ({ members, ...place }): FleetInstance => ({ ...at(board), ...place, segments: members }),
    ),
  )
  const changes = changesOf(before, after)
  return { ...changes, steps: fleetMigrationOrder(changes, fleet, keepPerS) }
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

function changesOf(before: readonly FleetInstance[], after: readonly FleetInstance[]): FleetChanges {
  const place = ({ gpu, node, index, smClockMhz, profile, start }: FleetInstance) =>
    [gpu, node, index, smClockMhz, profile, start].join()
  const processes = ({ segments }: FleetInstance) =>
    segments
      .map(({ model, batchSize, processes: count }) => `${model} ${batchSize} ${count}`)
      .sort()
      .join()
  const old = new Map(before.map((instance) => [place(instance), instance]))
  const kept: FleetInstance[] = []
  const restarted: { before: FleetInstance; after: FleetInstance }[] = []
  const created: FleetInstance[] = []
  for (const instance of after) {
    const standing = old.get(place(instance))
    old.delete(place(instance))
    if (!standing) created.push(instance)
    else if (processes(standing) === processes(instance)) kept.push(instance)
    else restarted.push({ before: standing, after: instance })
  }
  return { kept, restarted, created, removed: [...old.values()] }
}
