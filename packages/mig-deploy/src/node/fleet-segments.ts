import { InvalidInputError } from '@pctodl/platform'
import type { MappedBoard } from '../map/fleet-map.js'
import { geometryOf, isSegmentSize, type MigBoard, type SegmentSize, segmentSizes } from '../mig-geometry.js'
import type { TargetSegment } from './deploy-actions.js'

/** The part of a fleet's map that is on one node of the boards of one type. @param gpu key of the board */
export function fleetSegmentsOfNode(boards: readonly MappedBoard[], gpu: string, node: number): TargetSegment[] {
  if (!(Number.isInteger(node) && node >= 0)) throw new InvalidInputError('node', node, 'an integer of at least 0')
  const { profileNames } = boardNamed(gpu)
  return boards
    .filter((board) => board.gpu === gpu && board.node === node)
    .flatMap(({ index, smClockMhz, segments }) =>
      segments.map(({ profile, start, model, batchSize, processes }) => {
        const sizeGpcs = sizeOf(profile)
        return {
          ...{ gpu: index, start, sizeGpcs, model, batchSize, processes },
          ...(profile !== profileNames[sizeGpcs] && { profile }),
          ...(smClockMhz !== undefined && { smClockMhz }),
        }
      }),
    )
}

/**
 * Names of the profiles of a board by size, with the least memory; of a size that it does not have none.
 *
 * @throws UnknownNameError, PctodlError `NOT_SUPPORTED` for a board that does not exist or has no MIG
 */
export function boardNamed(name: string): Pick<MigBoard, 'profileNames'> {
  const { profiles } = geometryOf(name)
  const nameOf = (size: SegmentSize) => profiles.find(({ computeSlices }) => computeSlices === size)?.name ?? 'none'
  return {
    profileNames: Object.fromEntries(segmentSizes.map((size) => [size, nameOf(size)])) as MigBoard['profileNames'],
  }
}

function sizeOf(profile: string): SegmentSize {
  const size = Number.parseInt(profile, 10)
  if (!isSegmentSize(size)) throw new InvalidInputError('profile', profile, 'the name of a MIG profile')
  return size
}
