import { InvalidInputError } from '@pctodl/platform'
import type { CheckedFleet } from '../fleet/check-fleet.js'
import { type MappedBoard, segmentConflict } from '../map/fleet-map.js'

/**
 * Checks a running map.
 * @throws InvalidInputError for a map that this fleet cannot run: two boards at one place, overlapping instances, or a
 *   model twice in one instance
 */
export function assertMap(boards: readonly MappedBoard[], { groups }: CheckedFleet): void {
  const places = new Set<string>()
  for (const board of boards) {
    const { gpu, node, index } = board
    const group = groups.find(({ geometry: { key } }) => key === gpu)
    if (!group) {
      const known = [...new Set(groups.map((group) => group.geometry.key))].join(', ')
      throw new InvalidInputError('current map', gpu, `boards of the fleet: ${known}`)
    }
    const place = `${gpu}, node ${node}, GPU ${index}`
    for (const [field, value] of Object.entries({ node, index })) {
      if (!(Number.isInteger(value) && value >= 0)) {
        throw new InvalidInputError(`current map, ${gpu}: ${field}`, value, 'an integer of at least 0')
      }
    }
    if (index >= group.boardsPerNode) {
      throw new InvalidInputError(
        `current map, ${gpu}: index`,
        index,
        `below ${group.boardsPerNode}, the boards of a node`,
      )
    }
    if (places.has(place)) throw new InvalidInputError('current map', place, 'each board once')
    places.add(place)
    board.segments.forEach((segment, i) => {
      const conflict = segmentConflict(group.geometry, segment, board.segments.slice(0, i))
      if (!conflict) return
      throw new InvalidInputError(
        `current map: ${place}, ${conflict.field}`,
        segment[conflict.field],
        conflict.expected,
      )
    })
  }
}
