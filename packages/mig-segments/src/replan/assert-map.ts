import type { MappedBoard } from '@pctodl/mig-deploy'
import { freePlacements, InvalidInputError, type MigGeometry, type MigPlacement } from '@pctodl/platform'
import type { CheckedFleet } from '../fleet/check-fleet.js'

/**
 * @throws InvalidInputError for a map that this fleet cannot run: two boards at one place, overlapping instances, or a
 * model twice in one instance
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
    assertInstances(board, group.geometry, `current map: ${place}`)
  }
}

function assertInstances({ segments }: MappedBoard, geometry: MigGeometry, field: string): void {
  const taken: MigPlacement[] = []
  segments.forEach(({ profile: name, start, model }, i) => {
    const profile = geometry.profiles.find((each) => each.name === name)
    if (!profile) throw new InvalidInputError(field, name, `a profile of ${geometry.key}`)
    const sharing = segments.slice(0, i).filter((other) => other.profile === name && other.start === start)
    if (sharing.length > 0) {
      if (sharing.some((other) => other.model === model)) {
        throw new InvalidInputError(field, model, `each model once in the instance ${name} at ${start}`)
      }
      return
    }
    const slices = taken.reduce((sum, other) => sum + other.profile.computeSlices, profile.computeSlices)
    if (!freePlacements(profile, taken).includes(start) || slices > geometry.computeSlices) {
      throw new InvalidInputError(field, `${name} at ${start}`, 'a place of this profile beside the other instances')
    }
    taken.push({ profile, start })
  })
}
