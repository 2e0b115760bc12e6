import type { CheckedFleet } from '../fleet/check-fleet.js'
import type { FleetBoard } from '../fleet/place-fleet.js'

/** Instances of one board, or one of them. */
type Present = Omit<FleetBoard, 'group' | 'powerW'>

/** Whether instances that are there at once keep the limits on watts of their boards, their nodes and the fleet; what nobody measured counts nothing. */
export function keepWatts({ groups, lanes, powerW, limited }: CheckedFleet, present: Iterable<Present>): boolean {
  if (!limited) return true
  const boards = new Map<string, number>()
  const nodes = new Map<string, number>()
  let total = 0
  let kept = true
  for (const { gpu, node, index, smClockMhz, segments } of present) {
    const group = groups.findIndex(({ geometry }) => geometry.key === gpu)
    const { boardCapW, nodeCapW } = groups[group]!
    const board = `${gpu},${node},${index}`
    const lane = lanes.find((each) => each.group === group && each.smClockMhz === smClockMhz)
    const idleW = boards.has(board) ? 0 : (lane?.idleW ?? 0)
    const drawnW = segments.reduce((sum, segment) => sum + (segment.powerW ?? 0), idleW)
    boards.set(board, (boards.get(board) ?? 0) + drawnW)
    nodes.set(`${gpu},${node}`, (nodes.get(`${gpu},${node}`) ?? 0) + drawnW)
    total += drawnW
    kept &&= boards.get(board)! <= boardCapW * (1 + 1e-9) && nodes.get(`${gpu},${node}`)! <= nodeCapW * (1 + 1e-9)
  }
  return kept && total <= powerW * (1 + 1e-9)
}
