import { InvalidInputError } from '@pctodl/platform'
import { isSegmentSize, type Placement, placementConflict, segmentSizes } from '../mig-geometry.js'
import { csvRows, quoted, toNumber } from './csv-rows.js'
import { SegmentFileError } from './segment-file-error.js'

/** Header of a deployment map as published. `Num instance` is the node. */
export const mapColumns = [
  'Num instance',
  'Num GPU',
  'Model',
  'Placement',
  'Instance size',
  'Batch size',
  'Num proc',
] as const

/** Default number of GPUs of a node. */
export const DEFAULT_GPUS_PER_NODE = 8

/** A segment in a deployment map. */
export interface MappedSegment extends Placement {
  readonly model: string
  readonly batchSize: number
  readonly processes: number
}

export interface MappedGpu {
  /** Index over the whole cluster, from 0. */
  readonly index: number
  readonly segments: readonly MappedSegment[]
}

/** Write a deployment map as published: GPUs in ascending order, the segments of a GPU by size, largest first. */
export function formatDeploymentMap(gpus: readonly MappedGpu[], gpusPerNode: number = DEFAULT_GPUS_PER_NODE): string {
  const lines = [mapColumns.join(',')]
  for (const { index, segments } of gpus) {
    const node = Math.floor(index / gpusPerNode)
    for (const { model, start, sizeGpcs, batchSize, processes } of inPublishedOrder(segments)) {
      lines.push([node, index % gpusPerNode, model, start, sizeGpcs, batchSize, processes].join(','))
    }
  }
  return `${lines.join('\n')}\n`
}

/** Sort by size, largest first, with the published selection sort, which may reorder equal sizes. */
function inPublishedOrder<T extends Placement>(segments: readonly T[]): T[] {
  const sorted = [...segments]
  for (let j = 0; j < sorted.length; j++) {
    let largest = j
    for (let k = j + 1; k < sorted.length; k++) if (sorted[k]!.sizeGpcs > sorted[largest]!.sizeGpcs) largest = k
    const swapped = sorted[j]!
    sorted[j] = sorted[largest]!
    sorted[largest] = swapped
  }
  return sorted
}

/**
 * Read a deployment map.
 *
 * @throws SegmentFileError naming file, row and column, also for overlapping instances
 */
export function parseDeploymentMap(
  text: string,
  file: string,
  gpusPerNode: number = DEFAULT_GPUS_PER_NODE,
): MappedGpu[] {
  if (!(Number.isInteger(gpusPerNode) && gpusPerNode >= 1)) {
    throw new InvalidInputError('gpusPerNode', gpusPerNode, 'an integer of at least 1')
  }
  const [header, ...rows] = csvRows(text, file)
  if (header?.cells.join(',') !== mapColumns.join(',')) {
    throw new SegmentFileError(
      file,
      1,
      null,
      quoted(header?.cells.join(',') ?? ''),
      `the header ${mapColumns.join(',')}`,
    )
  }
  const gpus = new Map<number, MappedSegment[]>()
  for (const { row, cells } of rows) {
    if (cells.length !== mapColumns.length) {
      throw new SegmentFileError(file, row, null, `${cells.length} cells`, `${mapColumns.length}`)
    }
    const integer = (at: number, least: number, most = Number.MAX_SAFE_INTEGER): number => {
      const value = toNumber(cells[at]!)
      if (Number.isInteger(value) && value >= least && value <= most) return value
      const expected = `an integer of at least ${least}${most < 1e9 ? ` and at most ${most}` : ''}`
      throw new SegmentFileError(file, row, mapColumns[at]!, quoted(cells[at]!), expected)
    }
    const sizeGpcs = integer(4, 1)
    if (!isSegmentSize(sizeGpcs)) {
      throw new SegmentFileError(
        file,
        row,
        mapColumns[4],
        quoted(cells[4]!),
        `a size of ${segmentSizes.join(', ')} GPCs`,
      )
    }
    if (cells[2] === '') throw new SegmentFileError(file, row, mapColumns[2], 'an empty cell', 'the name of a model')
    const index = integer(0, 0) * gpusPerNode + integer(1, 0, gpusPerNode - 1)
    const segments = gpus.get(index) ?? []
    segments.push({
      model: cells[2]!,
      start: integer(3, 0, 6),
      sizeGpcs,
      batchSize: integer(5, 1),
      processes: integer(6, 1),
    })
    const conflict = placementConflict(segments)
    if (conflict !== null)
      throw new SegmentFileError(file, row, mapColumns[3], quoted(cells[3]!), `a free slot: ${conflict}`)
    gpus.set(index, segments)
  }
  return [...gpus]
    .map(([index, segments]) => ({ index, segments: segments.sort((a, b) => a.start - b.start) }))
    .sort((a, b) => a.index - b.index)
}
