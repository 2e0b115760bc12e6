import { check, checkInteger } from '../check.js'
import type { CheckedFleet } from '../fleet/check-fleet.js'
import { type MappedBoard, segmentConflict } from '../map/fleet-map.js'

/**
 * Checks a running map.
 * @throws InvalidInputError for a map that this fleet cannot run: two boards at one place, overlapping instances, or a
 *   model twice in one instance
 */
export function assertMap(boards: readonly MappedBoard[], { groups }: CheckedFleet): void {
  const places = new Set<string>()
  const keys = groups.map(({ geometry }) => geometry.key)
  for (const { gpu, node, index, segments } of boards) {
    const group = groups[keys.indexOf(gpu)]
    check(group !== undefined, 'current map', gpu, `boards of the fleet: ${keys.join(', ')}`)
    const place = `${gpu}, node ${node}, GPU ${index}`
    checkInteger(`current map, ${gpu}: node`, node, 0)
    checkInteger(`current map, ${gpu}: index`, index, 0)
    const { boardsPerNode } = group
    check(index < boardsPerNode, `current map, ${gpu}: index`, index, `below ${boardsPerNode}, the boards of a node`)
    check(!places.has(place), 'current map', place, 'each board once')
    places.add(place)
    segments.forEach((segment, i) => {
      const { field, expected } = segmentConflict(group.geometry, segment, segments.slice(0, i)) ?? {}
      check(!field, `current map: ${place}, ${field}`, field && segment[field], `${expected}`)
    })
  }
}
