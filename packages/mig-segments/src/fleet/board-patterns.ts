import { type MigGeometry, type MigPlacement, migLayouts } from '@pctodl/platform'

/** A way to fill a board: so many instances of each profile. */
export interface BoardPattern {
  /** In the order of `MigGeometry.profiles`. */
  readonly counts: readonly number[]
  /** One layout that has them. */
  readonly layout: readonly MigPlacement[]
}

/** The ways to fill a board that are not part of another; every set of instances that fits is part of one. */
export function patternsOf(geometry: MigGeometry): BoardPattern[] {
  const byCounts = new Map<string, BoardPattern>()
  for (const layout of migLayouts(geometry)) {
    const counts = geometry.profiles.map(
      (profile) => layout.filter((placement) => placement.profile === profile).length,
    )
    if (!byCounts.has(counts.join())) byCounts.set(counts.join(), { counts, layout })
  }
  const patterns = [...byCounts.values()]
  return patterns.filter(
    (pattern) =>
      !patterns.some((other) => other !== pattern && pattern.counts.every((count, p) => count <= other.counts[p]!)),
  )
}
