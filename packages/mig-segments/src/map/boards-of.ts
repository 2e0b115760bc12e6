import { findMigBoard } from '@pctodl/platform'
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
