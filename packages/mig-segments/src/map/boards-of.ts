import { findMigBoard, isSegmentSize, type SegmentSize } from '@pctodl/platform'
import { check } from '../check.js'
import { DEFAULT_GPUS_PER_NODE, type MappedGpu } from './deployment-map.js'
import type { MappedBoard } from './fleet-map.js'

/** Converts a map in ParvaGPU's format to boards of one type. */
export function boardsOf<T extends MappedGpu['segments'][number]>(
  gpus: readonly { readonly index: number; readonly segments: readonly T[] }[],
  gpu: string,
  gpusPerNode: number = DEFAULT_GPUS_PER_NODE,
): (Omit<MappedBoard, 'segments'> & { readonly segments: (Omit<T, 'sizeGpcs'> & { readonly profile: string })[] })[] {
  const { key, profileNames } = findMigBoard(gpu)
  return gpus.map(({ index, segments }) => ({
    ...{ gpu: key, node: Math.floor(index / gpusPerNode), index: index % gpusPerNode },
    segments: segments.map(({ sizeGpcs, ...segment }) => ({ ...segment, profile: profileNames[sizeGpcs] })),
  }))
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
