import { IndexedHeap } from '@pctodl/numerics'
import type { MigPlacement } from '@pctodl/platform'
import type { MappedBoard, MappedFleetSegment } from '../map/fleet-map.js'
import { throughputOf } from '../profile.js'
import { countsOf, patternsOf } from './board-patterns.js'
import { type CheckedFleet, type CheckedGroup, laneOf } from './check-fleet.js'
import type { FleetRow } from './fleet-rows.js'
import type { ProgramCounts, RunningBoard, RunningInstance } from './program.js'

/** The processes of one model in an instance, with their throughput, latency and power. */
export interface FleetSegment extends MappedFleetSegment {
  /** Throughput with full batches, items/s. */
  readonly throughput: number
  /** Rate answered in time, requests/s. */
  readonly ratePerS: number
  readonly latencyMs: number
  /** Power that it adds to an idle board, W, evenly divided in a shared instance; absent if it was not measured. */
  readonly powerW?: number
}

/** A planned board. If groups have the same type of board, their nodes are numbered one group after another. */
export interface FleetBoard extends MappedBoard {
  /** Index of the board's group in the fleet. */
  readonly group: number
  readonly segments: readonly FleetSegment[]
  /** Power while all its processes run, idle power included, W; NaN if that of an instance was not measured. */
  readonly powerW: number
}

/** A board while it is being filled. */
interface OpenBoard {
  /** Index among the running boards; absent for a board that was not in use. */
  readonly at?: number
  readonly lane: number
  /** Places for new instances. */
  readonly layout: readonly MigPlacement[]
  /** Number of free places of each profile. */
  readonly free: number[]
  /** New instances. */
  readonly rows: FleetRow[]
  /** Running instances that stay. */
  readonly kept: readonly Required<RunningInstance>[]
  drawnW: number
}

type PlacedCounts = Pick<ProgramCounts, 'kept' | 'placed'> & {
  readonly instances: ArrayLike<number>
  readonly boards: readonly ArrayLike<number>[]
}

/**
 * Assigns the instances of a solution to boards, and boards to nodes. The instance with the highest power is placed
 * first, on the board with the lowest power that has a free place. The board with the highest power is placed first, on
 * the first node that has a free place and enough power.
 *
 * @param running boards in use, which keep their places
 * @returns null if there are too few places, or if a board, a node or the fleet would exceed its power limit
 */
export function placeBoards(
  fleet: CheckedFleet,
  rows: readonly FleetRow[],
  counts: PlacedCounts,
  running: readonly RunningBoard[],
): FleetBoard[] | null {
  const open: OpenBoard[] = []
  for (const [l, { group }] of fleet.lanes.entries()) {
    const filled = fillLane(fleet, l, rows, counts, running)
    // Boards without instances draw no power.
    const used = filled?.filter((board) => board.rows.length + board.kept.length > 0)
    const { boardCapW } = fleet.groups[group]!
    if (!used?.every(({ drawnW }) => drawnW <= boardCapW * (1 + 1e-9))) return null
    open.push(...used)
  }
  const added = open.filter(({ at }) => at === undefined).sort((a, b) => b.drawnW - a.drawnW)
  const inUse = open.filter(({ at }) => at !== undefined).sort((a, b) => a.at! - b.at!)
  const boards = inUse.map((board) => boardOf(fleet, board, running[board.at!]!))
  if (!keepWatts(fleet, boards)) return null
  for (const [g, group] of fleet.groups.entries()) {
    // Groups of one type have different nodes.
    const from = boards.reduce(
      (node, board) => (board.gpu === group.geometry.key && board.group < g ? Math.max(node, board.node + 1) : node),
      0,
    )
    const takePlace = freePlaces(
      group,
      boards.filter((board) => board.group === g),
      running,
      from,
    )
    for (const board of added.filter(({ lane }) => fleet.lanes[lane]!.group === g)) {
      const place = takePlace(board.drawnW)
      if (!place) return null
      boards.push(boardOf(fleet, board, place))
    }
  }
  return boards
}

/** The boards of one lane with their instances; null if there are too few places. */
function fillLane(
  { groups, lanes }: CheckedFleet,
  lane: number,
  rows: readonly FleetRow[],
  { instances, boards, kept, placed }: PlacedCounts,
  running: readonly RunningBoard[],
): OpenBoard[] | null {
  const { group, idleW } = lanes[lane]!
  const { geometry } = groups[group]!
  const standing = running.flatMap((board, at): OpenBoard[] => {
    if (board.lane !== lane) return []
    const stays = board.instances.flatMap((each, i) => (kept[at]![i] ? [{ ...each, row: each.row! }] : []))
    const drawnW = stays.reduce((sum, { row }) => sum + (row.powerW ?? 0), idleW)
    const layout = placed[at]!
    return [{ at, lane, layout, free: countsOf(geometry, layout), rows: [], kept: stays, drawnW }]
  })
  const fresh = patternsOf(geometry).flatMap(({ counts, layout }, k): OpenBoard[] =>
    Array.from({ length: boards[lane]?.[k] ?? 0 }, () => ({
      ...{ lane, layout, free: [...counts], rows: [], kept: [], drawnW: idleW },
    })),
  )
  const open = [...standing, ...fresh]
  const wanted = rows.flatMap((row, r) => (row.lane === lane ? new Array<FleetRow>(instances[r]!).fill(row) : []))
  wanted.sort((a, b) => (b.powerW ?? 0) - (a.powerW ?? 0) || b.profile - a.profile)
  // For each profile, the boards with a free place, lowest power first. A fleet may have 100,000 boards.
  const withPlace = geometry.profiles.map((_, p) => {
    const heap = new IndexedHeap(open.length)
    open.forEach(({ free, drawnW }, b) => {
      if (free[p]! > 0) heap.set(b, drawnW)
    })
    return heap
  })
  for (const row of wanted) {
    const heap = withPlace[row.profile]!
    if (heap.size === 0) return null
    const at = heap.first
    const coolest = open[at]!
    coolest.free[row.profile]!--
    coolest.rows.push(row)
    coolest.drawnW += row.powerW ?? 0
    withPlace.forEach((each, p) => {
      if (coolest.free[p]! > 0) each.set(at, coolest.drawnW)
      else each.remove(at)
    })
  }
  return open
}

/** Returns the segments of an instance at slice `start`: one for each model that shares the instance. */
function instanceAt({ parts, powerW }: FleetRow, profile: string, start: number): FleetSegment[] {
  return parts.map(({ model, point, ratePerS }) => {
    const { batchSize, processes, latencyMs } = point
    const watts = powerW === undefined ? {} : { powerW: powerW / parts.length }
    const place = { profile, start, model, batchSize, processes }
    return { ...place, throughput: throughputOf(point), ratePerS, latencyMs, ...watts }
  })
}

/**
 * Returns a function that takes a place for one more board of a group: the first free one on a node with enough power,
 * preferably one that was not in use before; null if there is none.
 *
 * @param next boards of the group that already have their places
 * @param from the group's first node
 */
export function freePlaces(
  { geometry, boards, boardsPerNode, nodeCapW }: CheckedGroup,
  next: readonly FleetBoard[],
  current: readonly MappedBoard[],
  from: number = 0,
): (powerW: number) => Pick<MappedBoard, 'node' | 'index'> | null {
  const placesIn = (map: readonly MappedBoard[]) =>
    new Set(map.map(({ node, index }) => (node - from) * boardsPerNode + index))
  const taken = placesIn(next)
  const before = placesIn(current.filter(({ gpu }) => gpu === geometry.key))
  const drawnW = new Map<number, number>()
  for (const { node, powerW } of next) drawnW.set(node, (drawnW.get(node) ?? 0) + powerW)
  let first = 0
  let last = [...taken, ...before].reduce((a, b) => Math.max(a, b), 0)
  return (powerW) => {
    // A fleet may have 100,000 boards, so the search does not begin at the first place each time.
    while (taken.has(first)) first++
    for (const wasInUse of [false, true]) {
      // A node beyond all places in use has free places, unless the number of boards limits it.
      for (let place = first; place < Math.min(boards, last + 1 + boardsPerNode); place++) {
        const node = from + Math.floor(place / boardsPerNode)
        const withBoardW = (drawnW.get(node) ?? 0) + powerW
        if (taken.has(place) || before.has(place) !== wasInUse || withBoardW > nodeCapW * (1 + 1e-9)) continue
        taken.add(place)
        drawnW.set(node, withBoardW)
        last = Math.max(last, place)
        return { node, index: place % boardsPerNode }
      }
    }
    return null
  }
}

/** A board at its place, with the instances that stay and the new ones at the places of its layout. */
function boardOf(
  { groups, lanes }: CheckedFleet,
  { lane, layout, rows, kept }: OpenBoard,
  { node, index }: Pick<FleetBoard, 'node' | 'index'>,
): FleetBoard {
  const { group, smClockMhz, idleW } = lanes[lane]!
  const { key, profiles } = groups[group]!.geometry
  const segments = kept.flatMap(({ profile, start, row }) => instanceAt(row, profile.name, start))
  const left = [...rows]
  for (const { profile, start } of [...layout].sort((a, b) => a.start - b.start)) {
    const at = left.findIndex((row) => profiles[row.profile] === profile)
    if (at >= 0) segments.push(...instanceAt(left.splice(at, 1)[0]!, profile.name, start))
  }
  segments.sort((a, b) => a.start - b.start)
  return {
    ...{ group, gpu: key, node, index, ...(smClockMhz !== undefined && { smClockMhz }), segments },
    powerW: segments.reduce((sum, { powerW = Number.NaN }) => sum + powerW, idleW),
  }
}

/** Whether boards, or instances that exist at the same time, keep all power limits. Unmeasured power counts as 0. */
export function keepWatts(fleet: CheckedFleet, present: readonly Omit<FleetBoard, 'group' | 'powerW'>[]): boolean {
  const { groups, lanes, powerW, limited } = fleet
  if (!limited) return true
  const drawn = new Map<string, number>()
  return present.every(({ gpu, node, index, smClockMhz, segments }) => {
    const { boardCapW, nodeCapW } = groups.find(({ geometry }) => geometry.key === gpu)!
    const board = `${gpu},${node},${index}`
    const idleW = drawn.has(board) ? 0 : (lanes[laneOf(fleet, { gpu, smClockMhz })]?.idleW ?? 0)
    const drawnW = segments.reduce((sum, segment) => sum + (segment.powerW ?? 0), idleW)
    const limits = [[board, boardCapW] as const, [`${gpu},${node}`, nodeCapW] as const, ['fleet', powerW] as const]
    return limits.every(([place, capW]) => {
      drawn.set(place, (drawn.get(place) ?? 0) + drawnW)
      return drawn.get(place)! <= capW * (1 + 1e-9)
    })
  })
}
