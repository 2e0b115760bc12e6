import { assignStarts, assignStartsBeside, type SegmentSize, segmentSizes } from '@pctodl/mig-deploy'
import type { PlannedGpu, PlannedSegment } from '../segment-plan.js'
import { packSizes } from '../solve/pack-boards.js'
import { SIZES, sizeIndex } from '../solve/size-counts.js'
import type { PowerCap } from './power-cap.js'

type Unplaced = Omit<PlannedSegment, 'start'> & { readonly powerW: number }

/**
 * Put segments on few boards, none of which draws more than its cap while all processes run: first on as few as their sizes
 * need, each segment on the board of a fitting place that draws least so far; where that passes the cap, board after board, the
 * hungriest first.
 *
 * @param counts by service and size
 * @param segmentOf what a segment of a service and size is; its power is known, and alone within the cap
 */
export function packUnderCap(
  counts: Int32Array,
  segmentOf: (service: number, size: SegmentSize) => Omit<PlannedSegment, 'start'>,
  { boardW, idleW }: PowerCap,
): PlannedGpu[] {
  const total = new Int32Array(SIZES)
  const segments: Unplaced[] = []
  counts.forEach((count, i) => {
    if (count === 0) return
    total[i % SIZES]! += count
    const segment = segmentOf(Math.floor(i / SIZES), segmentSizes[i % SIZES]!)
    for (let k = 0; k < count; k++) segments.push({ ...segment, powerW: segment.powerW! })
  })
  segments.sort((a, b) => b.powerW - a.powerW || b.sizeGpcs - a.sizeGpcs)
  const roomW = boardW - idleW
  return withStarts(onFewest(segments, total, roomW) ?? boardAfterBoard(segments, roomW))
}

/** Null where a board would pass its cap. */
function onFewest(segments: readonly Unplaced[], total: Int32Array, roomW: number): Unplaced[][] | null {
  const boards = packSizes(total).map((sizes) => {
    const places = new Int32Array(SIZES)
    for (const size of sizes) places[sizeIndex[size]]!++
    return { places, drawnW: 0, segments: [] as Unplaced[] }
  })
  for (const segment of segments) {
    const s = sizeIndex[segment.sizeGpcs]
    let coolest: (typeof boards)[number] | undefined
    for (const board of boards) {
      if (board.places[s]! > 0 && (!coolest || board.drawnW < coolest.drawnW)) coolest = board
    }
    coolest!.places[s]!--
    coolest!.drawnW += segment.powerW
    coolest!.segments.push(segment)
    if (coolest!.drawnW > roomW) return null
  }
  return boards.map((board) => board.segments)
}

function boardAfterBoard(segments: readonly Unplaced[], roomW: number): Unplaced[][] {
  const boards: { drawnW: number; segments: Unplaced[] }[] = []
  for (const segment of segments) {
    const fitting = boards.find(
      (board) =>
        board.drawnW + segment.powerW <= roomW &&
        assignStarts([...board.segments.map(({ sizeGpcs }) => sizeGpcs), segment.sizeGpcs]) !== null,
    )
    if (fitting) {
      fitting.drawnW += segment.powerW
      fitting.segments.push(segment)
    } else boards.push({ drawnW: segment.powerW, segments: [segment] })
  }
  return boards.map((board) => board.segments)
}

function withStarts(boards: readonly (readonly Unplaced[])[]): PlannedGpu[] {
  return boards.map((segments, index) => {
    const starts = assignStartsBeside(
      [],
      segments.map(({ sizeGpcs }) => sizeGpcs),
    )!
    const placed = segments.map((segment, i) => ({ ...segment, start: starts[i]! }))
    return { index, segments: placed.sort((a, b) => a.start - b.start) }
  })
}
