import { findGpuSpec, PctodlError } from '@pctodl/platform'

/** Sizes of a MIG instance in compute slices (GPCs). There is no 5 and no 6. */
export const segmentSizes = [1, 2, 3, 4, 7] as const
export type SegmentSize = (typeof segmentSizes)[number]

export function isSegmentSize(value: number): value is SegmentSize {
  return (segmentSizes as readonly number[]).includes(value)
}

/** Compute slices of a board with MIG. */
export const COMPUTE_SLICES = 7
/** Memory slices of a board with MIG: one more than compute slices. */
export const MEMORY_SLICES = 8

interface Footprint {
  readonly memorySlices: number
  /** First memory slices at which an instance may begin: `nvidia-smi mig -lgipp`, alike on A100, H100 and H200. */
  readonly starts: readonly number[]
}

/** What an instance of a size takes of a board, and where. Figures: NVIDIA, MIG User Guide. */
export const footprints: Readonly<Record<SegmentSize, Footprint>> = {
  1: { memorySlices: 1, starts: [0, 1, 2, 3, 4, 5, 6] },
  2: { memorySlices: 2, starts: [0, 2, 4] },
  3: { memorySlices: 4, starts: [0, 4] },
  4: { memorySlices: 4, starts: [0] },
  7: { memorySlices: 8, starts: [0] },
}

/** A board that can be split into MIG instances. */
export interface MigBoard {
  /** Key of the board in `@pctodl/platform`. */
  readonly key: string
  readonly name: string
  /** Name of the GPU instance profile of each size, e.g. `3g.40gb`. */
  readonly profileNames: Readonly<Record<SegmentSize, string>>
}

/** Gigabytes in the profiles' names, by size. */
const gigabytes: Readonly<Record<string, Readonly<Record<SegmentSize, number>>>> = {
  A100: { 1: 5, 2: 10, 3: 20, 4: 20, 7: 40 },
  'A100-80GB': { 1: 10, 2: 20, 3: 40, 4: 40, 7: 80 },
  H100: { 1: 10, 2: 20, 3: 40, 4: 40, 7: 80 },
  H200: { 1: 18, 2: 35, 3: 71, 4: 71, 7: 141 },
}

/** Keys of the boards whose geometry is known. */
export const migBoardKeys: readonly string[] = Object.keys(gigabytes)

/**
 * @param name key, product name or alias of a board
 * @throws UnknownNameError for a board that does not exist
 * @throws PctodlError `NOT_SUPPORTED` for a board that has no MIG
 */
export function findMigBoard(name: string): MigBoard {
  const spec = findGpuSpec(name)
  const named = gigabytes[spec.key]
  if (named === undefined) {
    throw new PctodlError('NOT_SUPPORTED', `${spec.name} has no MIG; boards that have it: ${migBoardKeys.join(', ')}`)
  }
  const profileName = (size: SegmentSize) => `${size}g.${named[size]}gb`
  return {
    key: spec.key,
    name: spec.name,
    profileNames: { 1: profileName(1), 2: profileName(2), 3: profileName(3), 4: profileName(4), 7: profileName(7) },
  }
}

/** An instance on a board: its size, and the first of its memory slices. */
export interface Placement {
  readonly sizeGpcs: SegmentSize
  readonly start: number
}

/** Why instances cannot stand together on one board; null where they can. */
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
 * Legal starts for instances of these sizes on one empty board, in the order given; null where there are none. A 4 starts at 0,
 * the first 3 at 4, twos from the low end, ones from the high end.
 */
export function assignStarts(sizes: readonly SegmentSize[]): number[] | null {
  return assignStartsBeside([], sizes)
}

/** The same on a board where `present` stand already and stay. */
export function assignStartsBeside(present: readonly Placement[], sizes: readonly SegmentSize[]): number[] | null {
  if (placementConflict(present) !== null) return null
  const taken = present.reduce((sum, { sizeGpcs }) => sum + sizeGpcs, 0)
  if (sizes.reduce<number>((sum, size) => sum + size, taken) > COMPUTE_SLICES) return null
  let occupied = 0
  for (const { sizeGpcs, start } of present) occupied |= sliceMask(sizeGpcs, start)
  // Large instances have the fewest starts, so they choose first.
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
  return place(0, occupied) ? starts : null
}

/** Starts in the order in which they are tried: drivers, too, put the first 3 at 4, which leaves 0 to the twos. */
const preferredStarts: Readonly<Record<SegmentSize, readonly number[]>> = {
  1: [6, 5, 4, 3, 2, 1, 0],
  2: [0, 2, 4],
  3: [4, 0],
  4: [0],
  7: [0],
}

/** Where one more instance may start beside the memory slices of `mask`, compute slices apart; undefined where nowhere. */
export function freeStart(size: SegmentSize, mask: number): number | undefined {
  return preferredStarts[size].find((start) => (mask & sliceMask(size, start)) === 0)
}

/** Bits of the memory slices that an instance takes. */
export function sliceMask(size: SegmentSize, start: number): number {
  return ((1 << footprints[size].memorySlices) - 1) << start
}
