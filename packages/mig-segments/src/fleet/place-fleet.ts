import { IndexedHeap } from '@pctodl/numerics'
import { throughputOf } from '../profile.js'
import { patternsOf } from './board-patterns.js'
import type { CheckedFleet, CheckedGroup } from './check-fleet.js'
import { coolDown, type OpenBoard } from './cool-down.js'
import type { FleetRow } from './fleet-rows.js'
import type { ProgramCounts } from './program.js'

/**
 * The processes of one model in an instance. If models share an instance, it has several segments at the same place.
 */
export interface FleetSegment {
  /** MIG profile, e.g. `1g.20gb`. */
  readonly profile: string
  /** Index of its first memory slice. */
  readonly start: number
  readonly model: string
  readonly batchSize: number
  readonly processes: number
  /** Throughput with full batches, items/s. */
  readonly throughput: number
  /** Rate answered in time, requests/s. */
  readonly ratePerS: number
  readonly latencyMs: number
  /**
   * Power that the segment adds to an idle board while all its processes run, W. The power of a shared instance is
   * divided evenly. Absent if it was not measured.
   */
  readonly powerW?: number
}

export interface FleetBoard {
  /** Index of the board's group in the fleet. */
  readonly group: number
  /** Key of the board. */
  readonly gpu: string
  /**
   * Index of the node among all nodes with this type of board, from 0. If several groups have one type, the nodes of a
   * later group follow those of earlier ones.
   */
  readonly node: number
  /** Index of the board on its node, from 0. */
  readonly index: number
  /** SM clock to lock the board at, MHz; absent if the points have no clock. */
  readonly smClockMhz?: number
  readonly segments: readonly FleetSegment[]
  /**
   * Power while all processes of the board run, including idle power, W; NaN if the power of an instance was not
   * measured.
   */
  readonly powerW: number
}

/**
 * Assigns the instances of a group to boards, and boards to nodes. The instance with the highest power is placed first,
 * on the board with the lowest power that has a free place; boards are assigned to nodes in the same way. If a board
 * exceeds its cap, instances are swapped as long as that helps.
 *
 * @returns null if a board or a node would exceed its power limit
 */
export function placeGroup(
  fleet: CheckedFleet,
  g: number,
  rows: readonly FleetRow[],
  counts: ProgramCounts,
): FleetBoard[] | null {
  const group = fleet.groups[g]!
  const used: OpenBoard[] = []
  for (const [l, lane] of fleet.lanes.entries()) {
    if (lane.group !== g) continue
    const open = fillLane(fleet, l, rows, counts)
    if (!open || !coolDown(open, group.boardCapW)) return null
    used.push(...open.filter((board) => board.rows.length > 0))
  }
  used.sort((a, b) => b.drawnW - a.drawnW)
  const nodes = nodesFor(used, group)
  if (!nodes) return null
  return nodes.flatMap((on, node) =>
    on.map((board, index) => boardAt(fleet, board.lane, { node, index }, segmentsOf(board, group))),
  )
}

/**
 * Fills the boards of one lane with its new instances.
 *
 * @param standing boards in use that have places for new instances
 * @returns null if there are too few free places
 */
export function fillLane(
  { groups, lanes }: CheckedFleet,
  lane: number,
  rows: readonly FleetRow[],
  { instances, boards }: ProgramCounts,
  standing: readonly OpenBoard[] = [],
): OpenBoard[] | null {
  const { group, idleW } = lanes[lane]!
  const { geometry } = groups[group]!
  const fresh = patternsOf(geometry).flatMap((pattern, k): OpenBoard[] =>
    Array.from({ length: boards[lane]![k]! }, () => ({
      ...{ lane, pattern, free: [...pattern.counts], rows: [], drawnW: idleW },
    })),
  )
  const open = [...standing, ...fresh]
  const wanted = rows.flatMap((row, r) => (row.lane === lane ? new Array<FleetRow>(instances[r]!).fill(row) : []))
  wanted.sort((a, b) => (b.powerW ?? 0) - (a.powerW ?? 0) || b.profile - a.profile)
  // For each profile, a heap of the boards with a free place, lowest power first. A heap, because a fleet may have
  // 100,000 boards.
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

/** Boards of each node, highest power first; null if no allowed number of nodes is within the nodes' power limit. */
function nodesFor(used: readonly OpenBoard[], { boardsPerNode, nodeCapW, boards }: CheckedGroup): OpenBoard[][] | null {
  const most = Number.isFinite(boards) ? Math.ceil(boards / boardsPerNode) : used.length
  const drawnW = used.reduce((sum, board) => sum + board.drawnW, 0)
  const least = Math.max(used.length / boardsPerNode, drawnW / (nodeCapW * (1 + 1e-9)))
  for (let count = Math.ceil(least); count <= most; count++) {
    const nodes = Array.from({ length: count }, () => ({ on: [] as OpenBoard[], drawnW: 0 }))
    const withPlace = new IndexedHeap(count)
    nodes.forEach((_, n) => {
      withPlace.set(n, 0)
    })
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

/** Segments of a board at the places of its layout. */
export function segmentsOf({ pattern, rows }: OpenBoard, { geometry }: CheckedGroup): FleetSegment[] {
  const left = [...rows]
  return [...pattern.layout]
    .sort((a, b) => a.start - b.start)
    .flatMap(({ profile, start }) => {
      const at = left.findIndex((row) => geometry.profiles[row.profile] === profile)
      if (at < 0) return []
      const [row] = left.splice(at, 1) as [FleetRow]
      return instanceAt(row, profile.name, start)
    })
}

/** Returns the segments of an instance at slice `start`: one for each model that shares the instance. */
export function instanceAt({ parts, powerW }: FleetRow, profile: string, start: number): FleetSegment[] {
  return parts.map(({ model, point, ratePerS }) => {
    const { batchSize, processes, latencyMs } = point
    return {
      profile,
      start,
      model,
      batchSize,
      processes,
      throughput: throughputOf(point),
      ratePerS,
      latencyMs,
      ...(powerW !== undefined && { powerW: powerW / parts.length }),
    }
  })
}

/** A board of a lane with these segments. */
export function boardAt(
  { groups, lanes }: CheckedFleet,
  lane: number,
  { node, index }: Pick<FleetBoard, 'node' | 'index'>,
  segments: FleetSegment[],
): FleetBoard {
  const { group, smClockMhz, idleW } = lanes[lane]!
  return {
    group,
    gpu: groups[group]!.geometry.key,
    node,
    index,
    ...(smClockMhz !== undefined && { smClockMhz }),
    segments: segments.sort((a, b) => a.start - b.start),
    powerW: segments.reduce((sum, { powerW = Number.NaN }) => sum + powerW, idleW),
  }
}
