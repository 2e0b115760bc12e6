import {
  assignStarts,
  COMPUTE_SLICES,
  freeStart,
  type Placement,
  type SegmentSize,
  sliceMask,
} from '@pctodl/mig-deploy'
import { countSizes, packSizes } from '../solve/pack-boards.js'

/** A segment as packing sees it. */
export interface PackedSegment extends Placement {
  readonly model: string
}

export interface Wanted {
  readonly model: string
  readonly sizeGpcs: SegmentSize
}

/** GPU index -> segments. */
export type Layout = Map<number, PackedSegment[]>

/** GPUs that are tried for clearing in one round: fewer on a large cluster, where a trial costs more. */
const CANDIDATES = { least: 4, most: 24, gpusTimesCandidates: 1500 }
/** After so many rounds each clears one GPU more than the rounds before. */
const PATIENCE = 6

/**
 * Place new segments beside those that stay. Where they need more than `maxGpus`, GPUs are cleared one after the other and
 * what stood there is placed anew, each time the GPU whose clearing brings the total nearest to what is allowed for the fewest
 * segments moved.
 *
 * @param kept segments that may stay where they are
 * @param wanted segments to be created
 * @returns the layout; it fits on `maxGpus` if the sizes of all segments do
 */
export function packBeside(kept: Layout, wanted: readonly Wanted[], maxGpus: number): Layout {
  const cleared = new Set<number>()
  let layout = place(kept, wanted, cleared)
  const { least, most, gpusTimesCandidates } = CANDIDATES
  const tried = Math.max(least, Math.min(most, Math.floor(gpusTimesCandidates / kept.size)))
  for (let round = 0; usedGpus(layout) > maxGpus; round++) {
    const candidates = [...kept.keys()]
      .filter((gpu) => !cleared.has(gpu) && kept.get(gpu)!.length > 0)
      .sort((a, b) => gpcsIn(kept.get(a)!) - gpcsIn(kept.get(b)!) || a - b)
      .slice(0, tried)
    if (candidates.length === 0) break
    const excess = usedGpus(layout) - maxGpus
    const scored = candidates.map((gpu) => {
      const trial = place(kept, wanted, new Set([...cleared, gpu]))
      return { gpu, score: Math.max(0, usedGpus(trial) - maxGpus) + 0.02 * kept.get(gpu)!.length }
    })
    scored.sort((a, b) => a.score - b.score)
    for (const { gpu } of scored.slice(0, Math.ceil(excess / 4) + Math.floor(round / PATIENCE))) cleared.add(gpu)
    layout = place(kept, wanted, cleared)
  }
  return layout
}

function place(kept: Layout, wanted: readonly Wanted[], cleared: ReadonlySet<number>): Layout {
  const layout: Layout = new Map()
  const pool: Wanted[] = [...wanted]
  for (const [gpu, segments] of kept) {
    if (cleared.has(gpu)) {
      pool.push(...segments)
      layout.set(gpu, [])
    } else {
      layout.set(gpu, [...segments])
    }
  }
  pool.sort((a, b) => b.sizeGpcs - a.sizeGpcs)
  const rooms = [...layout.values()].filter((segments) => segments.length > 0).map(roomOf)
  const homeless = pool.filter((segment) => !placeInHole(rooms, segment))
  openBoards(layout, homeless)
  return layout
}

/** What is taken of a GPU that is in use. */
interface Room {
  readonly segments: PackedSegment[]
  gpcs: number
  mask: number
}

function roomOf(segments: PackedSegment[]): Room {
  const mask = segments.reduce((sum, { sizeGpcs, start }) => sum | sliceMask(sizeGpcs, start), 0)
  return { segments, gpcs: gpcsIn(segments), mask }
}

/** Put a segment beside others where it fills best. */
function placeInHole(rooms: readonly Room[], { model, sizeGpcs }: Wanted): boolean {
  let best: Room | undefined
  for (const room of rooms) {
    if (room.gpcs + sizeGpcs > COMPUTE_SLICES || (best && room.gpcs <= best.gpcs)) continue
    if (freeStart(sizeGpcs, room.mask) !== undefined) best = room
  }
  if (!best) return false
  const start = freeStart(sizeGpcs, best.mask)!
  best.segments.push({ model, sizeGpcs, start })
  best.gpcs += sizeGpcs
  best.mask |= sliceMask(sizeGpcs, start)
  return true
}

/** Give what found no room the fewest boards of its own: empty GPUs in order, then new ones. */
function openBoards(layout: Layout, homeless: readonly Wanted[]): void {
  const waiting = [...homeless]
  let gpu = 0
  for (const sizes of packSizes(countSizes(homeless.map(({ sizeGpcs }) => sizeGpcs)))) {
    while ((layout.get(gpu)?.length ?? 0) > 0) gpu++
    const starts = assignStarts(sizes)!
    layout.set(
      gpu,
      sizes.map((sizeGpcs, i) => {
        const next = waiting.findIndex((segment) => segment.sizeGpcs === sizeGpcs)
        const [{ model }] = waiting.splice(next, 1) as [Wanted]
        return { model, sizeGpcs, start: starts[i]! }
      }),
    )
  }
}

export function usedGpus(layout: Layout): number {
  let used = 0
  for (const segments of layout.values()) if (segments.length > 0) used++
  return used
}

function gpcsIn(segments: readonly Placement[]): number {
  return segments.reduce((sum, { sizeGpcs }) => sum + sizeGpcs, 0)
}
