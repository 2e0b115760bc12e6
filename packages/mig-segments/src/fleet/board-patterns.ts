import { type MigGeometry, type MigPlacement, migLayouts } from '@pctodl/platform'

/** A way to fill a board: a number of instances of each profile. */
export interface BoardPattern {
  /** Number of instances of each profile, in the order of `MigGeometry.profiles`. */
  readonly counts: readonly number[]
  /** A layout with these counts: where each instance starts. */
  readonly layout: readonly MigPlacement[]
}

const known = new WeakMap<MigGeometry, readonly BoardPattern[]>()

/** The maximal ways to fill a board. Every set of instances that fits on a board is a subset of one of them. */
export function patternsOf(geometry: MigGeometry): readonly BoardPattern[] {
  const found = known.get(geometry)
  if (found) return found
  const byCounts = new Map<string, BoardPattern>()
  for (const layout of migLayouts(geometry)) {
    const counts = countsOf(geometry, layout)
    if (!byCounts.has(counts.join())) byCounts.set(counts.join(), { counts, layout })
  }
  const all = [...byCounts.values()]
  const isWithin = (a: BoardPattern, b: BoardPattern) => a.counts.every((count, p) => count <= b.counts[p]!)
  const maximal = all.filter((pattern) => !all.some((other) => other !== pattern && isWithin(pattern, other)))
  known.set(geometry, maximal)
  return maximal
}

/** Number of placements of each profile. */
export function countsOf({ profiles }: MigGeometry, layout: readonly MigPlacement[]): number[] {
  return profiles.map((profile) => layout.filter((placement) => placement.profile === profile).length)
}
