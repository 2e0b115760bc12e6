import {
  findMigBoard,
  isSegmentSize,
  MAX_MPS_CLIENTS,
  type Placement,
  placementConflict,
  type SegmentSize,
  segmentSizes,
} from '@pctodl/platform'
import { check, checkInteger } from '../check.js'
import { csvLine, csvTable } from './csv-rows.js'
import type { MappedBoard } from './fleet-map.js'

/** Header of a deployment map in ParvaGPU's format. `Num instance` is the node. */
export const mapColumns: readonly string[] =
  'Num instance,Num GPU,Model,Placement,Instance size,Batch size,Num proc'.split(',')

export const DEFAULT_GPUS_PER_NODE = 8

/** A segment of a deployment map: the MPS processes of one model in a MIG instance. */
export interface MappedSegment extends Placement {
  readonly model: string
  readonly batchSize: number
  readonly processes: number
}

export interface MappedGpu {
  /** Index of the GPU over the whole cluster, from 0. */
  readonly index: number
  readonly segments: readonly MappedSegment[]
}

/** Formats a map in ParvaGPU's format, with the segments of each GPU by size, largest first. */
export function formatDeploymentMap(gpus: readonly MappedGpu[], gpusPerNode: number = DEFAULT_GPUS_PER_NODE): string {
  const lines = [mapColumns.join(',')]
  for (const { index, segments } of gpus) {
    const place = [Math.floor(index / gpusPerNode), index % gpusPerNode]
    for (const { model, start, sizeGpcs, batchSize, processes } of inPublishedOrder(segments)) {
      lines.push(csvLine([...place, model, start, sizeGpcs, batchSize, processes]))
    }
  }
  return `${lines.join('\n')}\n`
}

/** ParvaGPU sorts by selection, which may change the order of segments of equal size. */
function inPublishedOrder<T extends Placement>(segments: readonly T[]): T[] {
  const sorted = [...segments]
  for (let j = 0; j < sorted.length; j++) {
    let largest = j
    for (let k = j + 1; k < sorted.length; k++) if (sorted[k]!.sizeGpcs > sorted[largest]!.sizeGpcs) largest = k
    ;[sorted[j], sorted[largest]] = [sorted[largest]!, sorted[j]!]
  }
  return sorted
}

/** @throws SegmentFileError naming file, row and column, also for overlapping instances */
export function parseDeploymentMap(
  text: string,
  file: string,
  gpusPerNode: number = DEFAULT_GPUS_PER_NODE,
): MappedGpu[] {
  checkInteger('gpusPerNode', gpusPerNode, 1)
  const gpus = new Map<number, MappedSegment[]>()
  for (const row of csvTable(text, file, [mapColumns])) {
    const index = row.integer(0, 0) * gpusPerNode + row.integer(1, 0, gpusPerNode - 1)
    const segments = gpus.get(index) ?? []
    segments.push({
      model: row.text(2, 'the name of a model'),
      start: row.integer(3, 0, 6),
      sizeGpcs: row.number(4, `a size of ${segmentSizes.join(', ')} GPCs`, isSegmentSize) as SegmentSize,
      batchSize: row.integer(5, 1),
      processes: row.integer(6, 1, MAX_MPS_CLIENTS),
    })
    const conflict = placementConflict(segments)
    if (conflict !== null) throw row.error(3, `a free slot: ${conflict}`)
    gpus.set(index, segments)
  }
  return [...gpus]
    .map(([index, segments]) => ({ index, segments: segments.sort((a, b) => a.start - b.start) }))
    .sort((a, b) => a.index - b.index)
}

/** Converts a map in ParvaGPU's format to boards of one type. */
export function boardsOf<T extends MappedSegment>(
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
