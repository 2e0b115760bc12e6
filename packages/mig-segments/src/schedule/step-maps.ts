import type { MappedGpu, MappedSegment } from '@pctodl/mig-deploy'
import type { MigrationStep } from '../replan/migration.js'

/** The map after each step of a migration: what is deployed one after the other changes one segment at a time. */
export function stepMaps(from: readonly MappedGpu[], steps: readonly MigrationStep[]): MappedGpu[][] {
  let map = new Map(from.map(({ index, segments }) => [index, [...segments] as MappedSegment[]]))
  return steps.map(({ kind, gpu, segment }) => {
    const others = (map.get(gpu) ?? []).filter(({ start }) => start !== segment.start)
    map = new Map([...map, [gpu, kind === 'remove' ? others : [...others, segment]]])
    return [...map]
      .filter(([, segments]) => segments.length > 0)
      .map(([index, segments]) => ({ index, segments: [...segments].sort((a, b) => a.start - b.start) }))
      .sort((a, b) => a.index - b.index)
  })
}
