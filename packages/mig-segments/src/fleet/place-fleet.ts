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
 * first, on the board with the lowest power that has a free place; boards are assigned to nodes in the same way.
 *
 * @param running boards in use. They keep their places, and new boards take free places. Null for a plan from scratch,
 *   which divides the boards of each group evenly among nodes.
 * @returns null if there are too few places, or if a board, a node or the fleet would exceed its power limit
 */
export function placeBoards(
  fleet: CheckedFleet,
  rows: readonly FleetRow[],
  counts: PlacedCounts,
  running: readonly RunningBoard[] | null,
): FleetBoard[] | null {
  const open: OpenBoard[] = []
  for (const [l, { group }] of fleet.lanes.entries()) {
    const filled = fillLane(fleet, l, rows, counts, running ?? [])
    // Boards without instances draw no power.
    const used = filled?.filter((board) => board.rows.length + board.kept.length > 0)
    const { boardCapW } = fleet.groups[group]!
    if (!used?.every(({ drawnW }) => drawnW <= boardCapW * (1 + 1e-9))) return null
    open.push(...used)
  }
  const added = open.filter(({ at }) => at === undefined).sort((a, b) => b.drawnW - a.drawnW)
  if (!running) return onNodes(fleet, added)
  const inUse = open.filter(({ at }) => at !== undefined).sort((a, b) => a.at! - b.at!)
  const boards = inUse.map((board) => boardOf(fleet, board, running[board.at!]!))
  if (!keepWatts(fleet, boards)) return null
  for (const board of added) {
    const place = freePlace(fleet.groups[fleet.lanes[board.lane]!.group]!, board.drawnW, boards, running)
    if (!place) return null
    boards.push(boardOf(fleet, board, place))
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

/** Assigns the boards of a plan from scratch to nodes; null if a group's boards do not fit on its nodes. */
function onNodes(fleet: CheckedFleet, added: readonly OpenBoard[]): FleetBoard[] | null {
  const boards: FleetBoard[] = []
  const numbered = new Map<string, number>()
  for (const [g, group] of fleet.groups.entries()) {
    const own = added.filter(({ lane }) => fleet.lanes[lane]!.group === g)
    const nodes = nodesFor(own, group)
    if (!nodes) return null
    const from = numbered.get(group.geometry.key) ?? 0
    for (const [n, on] of nodes.entries()) {
      for (const [index, board] of on.entries()) boards.push(boardOf(fleet, board, { node: from + n, index }))
    }
    numbered.set(group.geometry.key, from + nodes.length)
  }
  return boards
}

/** Boards of each node, highest power first; null if no allowed number of nodes is within the nodes' power limit. */
function nodesFor(used: readonly OpenBoard[], { boardsPerNode, nodeCapW, boards }: CheckedGroup): OpenBoard[][] | null {
  const most = Number.isFinite(boards) ? Math.ceil(boards / boardsPerNode) : used.length
  const drawnW = used.reduce((sum, board) => sum + board.drawnW, 0)
  const least = Math.max(used.length / boardsPerNode, drawnW / (nodeCapW * (1 + 1e-9)))
  for (let count = Math.ceil(least); count <= most; count++) {
    const nodes = Array.from({ length: count }, () => ({ on: [] as OpenBoard[], drawnW: 0 }))
    const withPlace = new IndexedHeap(count)
    for (const n of nodes.keys()) withPlace.set(n, 0)
    for (const board of used) {
      const at = withPlace.first
      const coolest = nodes[at]!
      coolest.on.push(board)
      coolest.drawnW += board.drawnW
      if (coolest.on.length < boardsPerNode) withPlace.set(at, coolest.drawnW)
      else withPlace.remove(at)
    }
    if (nodes.every(({ drawnW }) => drawnW <= nodeCapW * (1 + 1e-9))) return nodes.map(({ on }) => on)
  }
  return null
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
 * Returns the first free place on a node with enough power, preferably one that was not in use before; null if there is
 * none. `next` are boards that already have their places.
 */
export function freePlace(
  { geometry, boards, boardsPerNode, nodeCapW }: CheckedGroup,
  powerW: number,
  next: readonly FleetBoard[],
  current: readonly MappedBoard[],
): Pick<MappedBoard, 'node' | 'index'> | null {
  const placesIn = (map: readonly MappedBoard[]) =>
    new Set(map.flatMap(({ gpu, node, index }) => (gpu === geometry.key ? [node * boardsPerNode + index] : [])))
  const taken = placesIn(next)
  const before = placesIn(current)
  const drawnW = new Map<number, number>()
  for (const board of next) {
    if (board.gpu === geometry.key) drawnW.set(board.node, (drawnW.get(board.node) ?? 0) + board.powerW)
  }
  const hasWatts = (place: number) =>
    nodeCapW === Infinity || (drawnW.get(Math.floor(place / boardsPerNode)) ?? 0) + powerW <= nodeCapW * (1 + 1e-9)
  // A node beyond all places in use has free places, unless the number of boards limits it.
  const count = Math.min(boards, [...taken, ...before].reduce((a, b) => Math.max(a, b), 0) + 1 + boardsPerNode)
  const at = (place: number) => ({ node: Math.floor(place / boardsPerNode), index: place % boardsPerNode })
  let vacated: number | undefined
  for (let place = 0; place < count; place++) {
    if (taken.has(place) || !hasWatts(place)) continue
    if (!before.has(place)) return at(place)
    vacated ??= place
  }
  return vacated === undefined ? null : at(vacated)
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
