import type { SegmentSize } from '../mig-geometry.js'

/** Segments by size, in the order of `segmentSizes`: 1, 2, 3, 4, 7 GPCs. */
export type SizeCounts = ArrayLike<number>

/** Position of each size in a `SizeCounts`. */
export const sizeIndex: Readonly<Record<SegmentSize, number>> = { 1: 0, 2: 1, 3: 2, 4: 3, 7: 4 }

/** Number of sizes. */
export const SIZES = 5

/** GPCs of the sizes, by position. */
export const gpcsOf = [1, 2, 3, 4, 7] as const

/** Every maximal set of instances that one board can hold, as counts. A set is legal iff it is part of one of these. */
export const maximalPatterns: readonly (readonly number[])[] = [
  [0, 0, 0, 0, 1],
  [0, 0, 1, 1, 0],
  [1, 1, 0, 1, 0],
  [3, 0, 0, 1, 0],
  [0, 0, 2, 0, 0],
  [0, 2, 1, 0, 0],
  [2, 1, 1, 0, 0],
  [4, 0, 1, 0, 0],
  [1, 3, 0, 0, 0],
  [3, 2, 0, 0, 0],
  [5, 1, 0, 0, 0],
  [7, 0, 0, 0, 0],
]

export function gpcTotal(counts: SizeCounts): number {
  let sum = 0
  for (let s = 0; s < SIZES; s++) sum += gpcsOf[s]! * counts[s]!
  return sum
}
