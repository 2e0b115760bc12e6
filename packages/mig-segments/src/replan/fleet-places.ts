import type { CheckedFleet, CheckedGroup } from '../fleet/check-fleet.js'
import type { FleetBoard } from '../fleet/place-fleet.js'
import type { MappedBoard } from '../map/fleet-map.js'

type Place = Pick<MappedBoard, 'node' | 'index'>

/**
 * Returns the first free place on a node with enough power: preferably one that was not in use before, otherwise one
 * that becomes free.
 *
 * @param next boards that already have their places
 * @returns null if no node has both a free place and enough power
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
  // A node beyond all places in use has free places, unless the number of boards limits it.
  const count = Math.min(boards, [...taken, ...before].reduce((a, b) => Math.max(a, b), 0) + 1 + boardsPerNode)
  const free = Array.from({ length: count }, (_, place) => place).filter(
    (place) => !taken.has(place) && hasWatts(place),
  )
  const place = free.find((each) => !before.has(each)) ?? free[0]
  return place === undefined ? null : { node: Math.floor(place / boardsPerNode), index: place % boardsPerNode }
}

/**
 * Moves the boards of a plan from scratch to the places of running boards, so that many instances can stay. On nodes
 * with a power limit, boards stay where the plan put them, because only this arrangement is known to be within the
 * limit.
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

/**
 * Number of running instances that the planned board also has, at the same place and with the same processes and clock.
 */
function stayingOf(board: FleetBoard, running: MappedBoard): number {
  if (board.smClockMhz !== running.smClockMhz) return 0
  const key = ({ profile, start, model, batchSize, processes }: MappedBoard['segments'][number]) =>
    [profile, start, model, batchSize, processes].join()
  const standing = new Set(running.segments.map(key))
  return board.segments.filter((segment) => standing.has(key(segment))).length
}
