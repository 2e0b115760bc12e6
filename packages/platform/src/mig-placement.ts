import { findGpuSpec, gpuSpecs } from './boards.js'
import { PctodlError, UnknownNameError } from './errors.js'
import { findMigGeometry, type MigGeometry, type MigSlot, migGeometries } from './mig-geometry.js'

/** Possible sizes of a MIG instance in compute slices (GPCs). */
export const segmentSizes = [1, 2, 3, 4, 7] as const
export type SegmentSize = (typeof segmentSizes)[number]

export function isSegmentSize(value: number): value is SegmentSize {
  return (segmentSizes as readonly number[]).includes(value)
}

/** Number of compute slices of the supported boards. */
export const COMPUTE_SLICES = 7

interface Footprint {
  readonly memorySlices: number
  /** Memory slices at which an instance may start, on all boards with seven compute slices. */
  readonly starts: readonly number[]
}

/**
 * Returns the profile of a size. Two profiles have one compute slice; this one has less memory, and can be placed at
 * more slices.
 */
function slotOf({ profiles }: MigGeometry, size: SegmentSize): MigSlot {
  return profiles.find(({ computeSlices }) => computeSlices === size)!
}

function bySize<T>(of: (size: SegmentSize) => T): Readonly<Record<SegmentSize, T>> {
  return { 1: of(1), 2: of(2), 3: of(3), 4: of(4), 7: of(7) }
}

/** Memory slices that an instance takes, and where it may start, by size. */
export const footprints: Readonly<Record<SegmentSize, Footprint>> = bySize((size) => {
  const { memorySlices, placements } = slotOf(findMigGeometry('A100'), size)
  return { memorySlices, starts: placements }
})

/** A board that can be split into MIG instances. */
export interface MigBoard {
  /** Key of the board in `gpuSpecs`. */
  readonly key: string
  readonly name: string
  /** Name of the GPU instance profile of each size, e.g. `3g.40gb`. */
  readonly profileNames: Readonly<Record<SegmentSize, string>>
}

/**
 * Keys of the boards with seven compute slices, which have the same sizes and starts. Other boards can only be planned
 * as fleets.
 */
export const migBoardKeys: readonly string[] = Object.values(migGeometries)
  .filter(({ computeSlices }) => computeSlices === COMPUTE_SLICES)
  .map(({ key }) => key)

/**
 * Finds a board with seven compute slices.
 * @param name key, product name or alias of a board
 * @throws UnknownNameError for an unknown board
 * @throws PctodlError `NOT_SUPPORTED` for a board without MIG, or without seven slices
 */
export function findMigBoard(name: string): MigBoard {
  const geometry = geometryOf(name)
  if (geometry.computeSlices !== COMPUTE_SLICES) {
    throw new PctodlError(
      'NOT_SUPPORTED',
      `${geometry.key} has ${geometry.computeSlices} slices; plan it as a fleet, or take one of ${migBoardKeys.join(', ')}`,
    )
  }
  const product = gpuSpecs[geometry.key]?.name ?? geometry.key
  return { key: geometry.key, name: product, profileNames: bySize((size) => slotOf(geometry, size).name) }
}

/**
 * MIG geometry of a board, by key, product name or alias.
 *
 * @throws UnknownNameError for an unknown board
 * @throws PctodlError `NOT_SUPPORTED` for a board without MIG
 */
export function geometryOf(name: string): MigGeometry {
  const key = specKey(name)
  if (key !== undefined && !(key in migGeometries)) {
    const known = Object.keys(migGeometries).join(', ')
    throw new PctodlError('NOT_SUPPORTED', `${gpuSpecs[key]!.name} has no MIG; boards that have it: ${known}`)
  }
  return findMigGeometry(key ?? name)
}

function specKey(name: string): string | undefined {
  try {
    return findGpuSpec(name).key
  } catch (error) {
    if (error instanceof UnknownNameError) return undefined
    throw error
  }
}

/** An instance on a board: its size and its first memory slice. */
export interface Placement {
  readonly sizeGpcs: SegmentSize
  readonly start: number
}

/** Returns why instances cannot exist at the same time on one board; null if they can. */
export function placementConflict(placements: readonly Placement[]): string | null {
  const owner: (Placement | undefined)[] = []
  let gpcs = 0
  for (const placement of placements) {
    const { sizeGpcs, start } = placement
    const { memorySlices, starts } = footprints[sizeGpcs]
    if (!starts.includes(start)) {
      return `a ${sizeGpcs}-GPC instance cannot start at slice ${start}, only at ${starts.join(', ')}`
    }
    for (let slice = start; slice < start + memorySlices; slice++) {
      const other = owner[slice]
      if (other) return `${sizeGpcs}@${start} overlaps ${other.sizeGpcs}@${other.start} at memory slice ${slice}`
      owner[slice] = placement
    }
    gpcs += sizeGpcs
  }
  return gpcs > COMPUTE_SLICES ? `the instances take ${gpcs} compute slices of ${COMPUTE_SLICES}` : null
}

/**
 * Returns valid starts for instances of these sizes on one empty board, in the given order; null if they do not fit. An
 * instance of size 4 starts at 0, the first of size 3 at 4. Size 2 fills from the low end, size 1 from the high end.
 */
export function assignStarts(sizes: readonly SegmentSize[]): number[] | null {
  if (sizes.reduce<number>((sum, size) => sum + size, 0) > COMPUTE_SLICES) return null
  // Large instances have the fewest possible starts, so they are placed first.
  const order = sizes.map((_, i) => i).sort((a, b) => sizes[b]! - sizes[a]! || a - b)
  const starts = new Array<number>(sizes.length)
  const place = (at: number, mask: number): boolean => {
    if (at === order.length) return true
    const size = sizes[order[at]!]!
    for (const start of preferredStarts[size]) {
      const slices = sliceMask(size, start)
      if ((mask & slices) !== 0) continue
      starts[order[at]!] = start
      if (place(at + 1, mask | slices)) return true
    }
    return false
  }
  return place(0, 0) ? starts : null
}

/**
 * Starts in order of preference. As with NVIDIA's drivers, the first instance of size 3 starts at 4 and leaves 0 for
 * size 2.
 */
const preferredStarts: Readonly<Record<SegmentSize, readonly number[]>> = {
  1: [6, 5, 4, 3, 2, 1, 0],
  2: [0, 2, 4],
  3: [4, 0],
  4: [0],
  7: [0],
}

/** Bit mask of the memory slices that an instance takes. */
function sliceMask(size: SegmentSize, start: number): number {
  return ((1 << footprints[size].memorySlices) - 1) << start
}
