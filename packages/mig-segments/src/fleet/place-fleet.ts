import { IndexedHeap } from '@pctodl/numerics'
import { throughputOf } from '../profile.js'
import type { BoardPattern } from './board-patterns.js'
import type { CheckedFleet, CheckedGroup } from './fleet.js'
import type { FleetCounts } from './fleet-program.js'
import type { FleetRow } from './fleet-rows.js'

/** An instance with the processes that serve one model in it. */
export interface FleetSegment {
  /** MIG profile, e.g. `1g.20gb`. */
  readonly profile: string
  /** First of its memory slices. */
  readonly start: number
  readonly model: string
  readonly batchSize: number
  readonly processes: number
  /** Items/s in full batches. */
  readonly throughput: number
  /** Requests/s that it answers in time. */
  readonly ratePerS: number
  readonly latencyMs: number
  /** Watts that it adds to an idle board while all its processes run; absent where they were not measured. */
  readonly powerW?: number
}

export interface FleetBoard {
  /** Place of its group in the fleet. */
  readonly group: number
  /** Key of the board. */
  readonly gpu: string
  /** Nodes of a group count from 0. */
  readonly node: number
  /** On its node, from 0. */
  readonly index: number
  readonly segments: readonly FleetSegment[]
  /** Watts while all its processes run, the idle board's included; NaN where some were not measured. */
  readonly powerW: number
}

interface OpenBoard {
  readonly pattern: BoardPattern
  readonly free: number[]
  readonly rows: FleetRow[]
  drawnW: number
}

/**
 * Give the instances of a group their boards and nodes: those that draw most first, each to the board with a place that draws least, and
 * boards likewise to nodes. Where a board passes its cap, instances change places while that helps.
 *
 * @returns null where a board or a node would pass its cap
 */
export function placeGroup(
  fleet: CheckedFleet,
  g: number,
  models: readonly string[],
  rows: readonly FleetRow[],
  { instances, boards }: FleetCounts,
  patterns: readonly BoardPattern[],
): FleetBoard[] | null {
  const group = fleet.groups[g]!
  const open: OpenBoard[] = patterns.flatMap((pattern, k) =>
    Array.from({ length: boards[g]![k]! }, () => ({
      pattern,
      free: [...pattern.counts],
      rows: [],
      drawnW: group.idleW,
    })),
  )
  const wanted = rows.flatMap((row, r) => (row.group === g ? new Array<FleetRow>(instances[r]!).fill(row) : []))
  wanted.sort((a, b) => b.powerW - a.powerW || b.profile - a.profile)
  // For each profile the boards with a place for it, the coolest first: a fleet may have 100,000 boards.
  const withPlace = group.geometry.profiles.map((_, p) => {
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
    coolest.drawnW += row.powerW
    withPlace.forEach((each, p) => {
      if (coolest.free[p]! > 0) each.set(at, coolest.drawnW)
      else each.remove(at)
    })
  }
  if (!exchange(open, group.boardCapW)) return null
  const used = open.filter((board) => board.rows.length > 0).sort((a, b) => b.drawnW - a.drawnW)
  const nodes = nodesFor(used, group)
  if (!nodes) return null
  return nodes.flatMap((on, node) =>
    on.map((board, index) => ({
      group: g,
      gpu: group.geometry.key,
      node,
      index,
      segments: segmentsOf(board, group, models),
      powerW: board.rows.some(({ point }) => point.powerW === undefined) ? Number.NaN : board.drawnW,
    })),
  )
}

/** Swap instances of one profile between the hottest board and others while it gets cooler; whether all keep the cap. */
function exchange(boards: readonly OpenBoard[], capW: number): boolean {
  for (let round = 0; round <= 20 * boards.length; round++) {
    const hottest = boards.reduce<OpenBoard | undefined>((a, b) => (a && a.drawnW >= b.drawnW ? a : b), undefined)
    if (!hottest || hottest.drawnW <= capW * (1 + 1e-9)) return true
    let best: { gain: number; other: OpenBoard; i: number; j: number } | undefined
    for (const other of boards) {
      if (other === hottest) continue
      hottest.rows.forEach((mine, i) => {
        const swap = (j: number, theirsW: number) => {
          const less = mine.powerW - theirsW
          if (less <= 1e-9) return
          const gain = hottest.drawnW - Math.max(hottest.drawnW - less, other.drawnW + less)
          if (gain > (best?.gain ?? 1e-9)) best = { gain, other, i, j }
        }
        if (other.free[mine.profile]! > 0) swap(-1, 0)
        other.rows.forEach((theirs, j) => {
          if (theirs.profile === mine.profile) swap(j, theirs.powerW)
        })
      })
    }
    if (!best) return false
    const { other, i, j } = best
    const mine = hottest.rows[i]!
    const theirs = other.rows[j]
    hottest.rows.splice(i, 1, ...(theirs ? [theirs] : []))
    other.rows.splice(...((theirs ? [j, 1, mine] : [other.rows.length, 0, mine]) as [number, number, FleetRow]))
    if (!theirs) {
      hottest.free[mine.profile]!++
      other.free[mine.profile]!--
    }
    const less = mine.powerW - (theirs?.powerW ?? 0)
    hottest.drawnW -= less
    other.drawnW += less
  }
  return false
}

/** Boards of each node, the hungriest first; null where the watts of so many nodes do not suffice. */
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

function segmentsOf(
  { pattern, rows }: OpenBoard,
  { geometry }: CheckedGroup,
  models: readonly string[],
): FleetSegment[] {
  const left = [...rows]
  return [...pattern.layout]
    .sort((a, b) => a.start - b.start)
    .flatMap(({ profile, start }) => {
      const at = left.findIndex((row) => geometry.profiles[row.profile] === profile)
      if (at < 0) return []
      const [{ service, point, ratePerS }] = left.splice(at, 1) as [FleetRow]
      const { batchSize, processes, latencyMs, powerW } = point
      return [
        {
          ...{ profile: profile.name, start, model: models[service]!, batchSize, processes },
          ...{ throughput: throughputOf(point), ratePerS, latencyMs },
          ...(powerW !== undefined && { powerW }),
        },
      ]
    })
}
