import { type SegmentSize, segmentSizes } from '@pctodl/mig-deploy'
import { findMigGeometry, migLayouts } from '@pctodl/platform'

/** Segments by size, in the order of `segmentSizes`: 1, 2, 3, 4, 7 GPCs. */
export type SizeCounts = ArrayLike<number>

/** Position of each size in a `SizeCounts`. */
export const sizeIndex: Readonly<Record<SegmentSize, number>> = { 1: 0, 2: 1, 3: 2, 4: 3, 7: 4 }

/** Number of sizes. */
export const SIZES = 5

/** GPCs of the sizes, by position. */
export const gpcsOf = [1, 2, 3, 4, 7] as const

/** Every maximal set of instances that one board can hold, as counts, by the largest instances. A set is legal iff it is part of one of these. */
export const maximalPatterns: readonly (readonly number[])[] = boardPatterns()

/** What the layouts of a board with seven slices come to, without those that another contains. */
function boardPatterns(): number[][] {
  const geometry = findMigGeometry('A100')
  const profiles = segmentSizes.map((size) => geometry.profiles.find(({ computeSlices }) => computeSlices === size)!)
  const counted = migLayouts({ ...geometry, profiles }).map((layout) =>
    profiles.map((profile) => layout.filter((placement) => placement.profile === profile).length),
  )
  const patterns = [...new Map(counted.map((counts) => [counts.join(), counts])).values()]
  const within = (a: readonly number[], b: readonly number[]) => a !== b && a.every((count, s) => count <= b[s]!)
  const descending = (a: readonly number[], b: readonly number[]) => {
    for (let s = SIZES - 1; s >= 0; s--) if (a[s] !== b[s]) return b[s]! - a[s]!
    return 0
  }
  return patterns.filter((pattern) => !patterns.some((other) => within(pattern, other))).sort(descending)
}

export function gpcTotal(counts: SizeCounts): number {
  let sum = 0
  for (let s = 0; s < SIZES; s++) sum += gpcsOf[s]! * counts[s]!
  return sum
}
