import { findMigBoard, isSegmentSize, type SegmentSize } from '@pctodl/platform'
import { check } from '../check.js'
import { DEFAULT_GPUS_PER_NODE } from '../map/deployment-map.js'
import type { MappedBoard } from '../map/fleet-map.js'
import type { ServiceProfile } from '../profile.js'
import type { BoardGroup, Fleet } from './fleet.js'

/**
 * Returns a fleet of one type of board.
 *
 * @param more further options of the group, such as power limits
 * @throws UnknownNameError, PctodlError `NOT_SUPPORTED` for a board without MIG, or not of seven slices
 */
export function fleetOf(gpu: string, profiles: readonly ServiceProfile[], more: Partial<BoardGroup> = {}): Fleet {
  return { groups: [{ ...more, gpu: findMigBoard(gpu).key, profiles }] }
}

/**
 * Converts boards of one type to a map in ParvaGPU's format, which numbers GPUs over the whole cluster.
 *
 * @throws InvalidInputError for models that share an instance, which this format cannot express
 */
export function gpusOf<T extends MappedBoard['segments'][number]>(
  boards: readonly (Omit<MappedBoard, 'segments'> & { readonly segments: readonly T[] })[],
  gpusPerNode: number = DEFAULT_GPUS_PER_NODE,
): { readonly index: number; readonly segments: readonly (T & { readonly sizeGpcs: SegmentSize })[] }[] {
  return boards
    .map(({ node, index, segments }) => ({
      index: node * gpusPerNode + index,
      segments: segments.map((segment, i) => {
        const sizeGpcs = Number.parseInt(segment.profile, 10)
        const isOwn = isSegmentSize(sizeGpcs) && segments[i - 1]?.start !== segment.start
        check(isOwn, 'map', segment.profile, 'an instance of its own for each model')
        return { ...segment, sizeGpcs }
      }),
    }))
    .sort((a, b) => a.index - b.index)
}
