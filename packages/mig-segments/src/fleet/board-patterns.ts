import { type MigGeometry, type MigPlacement, migLayouts } from '@pctodl/platform'

/** A way to fill a board: a number of instances of each profile. */
export interface BoardPattern {
  /** Number of instances of each profile, in the order of `MigGeometry.profiles`. */
  readonly counts: readonly number[]
  /** One layout with these counts. */
  readonly layout: readonly MigPlacement[]
}

const known = new WeakMap<MigGeometry, readonly BoardPattern[]>()

/**
 * Returns the maximal ways to fill a board. Every set of instances that fits on a board is a subset of one of them.
 */
export function patternsOf(geometry: MigGeometry): readonly BoardPattern[] {
  const patterns = known.get(geometry) ?? maximalPatterns(geometry)
  known.set(geometry, patterns)
  return patterns
}

function maximalPatterns(geometry: MigGeometry): BoardPattern[] {
  const byCounts = new Map<string, BoardPattern>()
  for (const layout of migLayouts(geometry)) {
    const counts = countsOf(geometry, layout)
    if (!byCounts.has(counts.join())) byCounts.set(counts.join(), { counts, layout })
  }
  const patterns = [...byCounts.values()]
  return patterns.filter(
    (pattern) =>
      !patterns.some((other) => other !== pattern && pattern.counts.every((count, p) => count <= other.counts[p]!)),
  )
}

/** Number of placements of each profile. */
export function countsOf({ profiles }: MigGeometry, layout: readonly MigPlacement[]): number[] {
  return profiles.map((profile) => layout.filter((placement) => placement.profile === profile).length)
}
