import type { MappedBoard } from '@pctodl/mig-deploy'
import type { FleetStep } from './fleet-migration.js'

/**
 * The map of a fleet after each step of a change, for `deploy --through`: boards without instances are not in it.
 *
 * @param from the map before the first step
 */
export function stepFleetMaps(from: readonly MappedBoard[], steps: readonly FleetStep[]): MappedBoard[][] {
  let boards = [...from]
  return steps.map(({ kind, instance }) => {
    const { gpu, node, index, smClockMhz, start, segments } = instance
    const here = (board: MappedBoard) => board.gpu === gpu && board.node === node && board.index === index
    const board = boards.find(here)
    const others = (board?.segments ?? []).filter((segment) => segment.start !== start)
    const present = kind === 'remove' ? others : [...others, ...segments].sort((a, b) => a.start - b.start)
    const next = { gpu, node, index, ...(smClockMhz !== undefined && { smClockMhz }), segments: present }
    boards = board ? boards.map((each) => (each === board ? next : each)) : [...boards, next]
    boards = boards.filter((each) => each.segments.length > 0)
    return boards
  })
}
