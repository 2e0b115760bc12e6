import type { MappedBoard } from '@pctodl/mig-deploy'
import type { CheckedFleet, CheckedGroup } from '../fleet/check-fleet.js'
import type { FleetBoard } from '../fleet/place-fleet.js'

type Place = Pick<MappedBoard, 'node' | 'index'>

/**
 * The first place on a node with watts for it that no board is at or was at, or where there is none one that is cleared.
 *
 * @param next the boards that have their places
 * @returns null where no node has a place and watts for it
 */
export function freePlace(
  { geometry, boards, boardsPerNode, nodeCapW }: CheckedGroup,
  powerW: number,
  next: readonly FleetBoard[],
  current: readonly MappedBoard[],
): Place | null {
  const placesIn = (map: readonly MappedBoard[]) =>
    new Set(map.flatMap(({ gpu, node, index }) => (gpu === geometry.key ? [node * boardsPerNode + index] : [])))
  const taken = placesIn(next)
  const before = placesIn(current)
  const drawnW = new Map<number, number>()
  for (const board of next) {
    if (board.gpu === geometry.key) drawnW.set(board.node, (drawnW.get(board.node) ?? 0) + board.powerW)
  }
  const hasWatts = (place: number) =>
    nodeCapW === Number.POSITIVE_INFINITY ||
    (drawnW.get(Math.floor(place / boardsPerNode)) ?? 0) + powerW <= nodeCapW * (1 + 1e-9)
  // Beyond all places in use and a whole node more there is room, if there are so many boards.
  const count = Math.min(boards, [...taken, ...before].reduce((a, b) => Math.max(a, b), 0) + 1 + boardsPerNode)
  const free = Array.from({ length: count }, (_, place) => place).filter(
    (place) => !taken.has(place) && hasWatts(place),
  )
  const place = free.find((each) => !before.has(each)) ?? free[0]
  return place === undefined ? null : { node: Math.floor(place / boardsPerNode), index: place % boardsPerNode }
}

/**
 * The boards of a fresh plan at the places of running boards of which most can stay; on nodes with a limit on watts they stay where the plan
 * has them, since it is these together that keep it.
 */
export function laidOver(
  { groups }: CheckedFleet,
  fresh: readonly FleetBoard[],
  current: readonly MappedBoard[],
): FleetBoard[] {
  const placed: FleetBoard[] = fresh.filter(({ group }) => Number.isFinite(groups[group]!.nodeCapW))
  const open = current.filter(({ gpu }) =>
    groups.some(({ geometry, nodeCapW }) => geometry.key === gpu && !Number.isFinite(nodeCapW)),
  )
  const left: FleetBoard[] = []
  for (const board of fresh) {
    if (placed.includes(board)) continue
    const { place } = open.reduce<{ place: number; staying: number }>(
      (best, running, place) => {
        const staying = running.gpu === board.gpu ? stayingOf(board, running) : 0
        return staying > best.staying ? { place, staying } : best
      },
      { place: -1, staying: 0 },
    )
    if (place < 0) {
      left.push(board)
      continue
    }
    const [{ node, index }] = open.splice(place, 1) as [MappedBoard]
    placed.push({ ...board, node, index })
  }
  for (const board of left)
    placed.push({ ...board, ...freePlace(groups[board.group]!, board.powerW, placed, current)! })
  return placed
}

/** Instances that a running board has at the same places with the same processes, and at the same clock. */
function stayingOf(board: FleetBoard, running: MappedBoard): number {
  if (board.smClockMhz !== running.smClockMhz) return 0
  return board.segments.filter(({ profile, start, model, batchSize, processes }) =>
    running.segments.some(
      (each) =>
        each.profile === profile &&
        each.start === start &&
        each.model === model &&
        each.batchSize === batchSize &&
        each.processes === processes,
    ),
  ).length
}
