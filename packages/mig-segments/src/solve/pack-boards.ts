import { assignStarts, COMPUTE_SLICES, type SegmentSize } from '@pctodl/mig-deploy'
import type { PlannedGpu, PlannedSegment } from '../segment-plan.js'
import { tallyBoards } from './fewest-gpus.js'
import { SIZES, type SizeCounts, sizeIndex } from './size-counts.js'

/** Sizes of the instances of one board, largest first. */
type Board = SegmentSize[]

/** The fewest boards for so many segments of each size, the fullest first, each with legal starts. */
export function packSizes(counts: SizeCounts): Board[] {
  const [ones, twos, threes, fours, sevens] = [0, 1, 2, 3, 4].map((s) => counts[s]!) as [
    number,
    number,
    number,
    number,
    number,
  ]
  const { gpus, threePairs } = tallyBoards(counts)
  const boards: Board[] = []
  const open = (sizes: Board, times: number) => {
    for (let i = 0; i < times; i++) boards.push([...sizes])
  }
  const beside = Math.min(threes, fours)
  open([7], sevens)
  open([4, 3], beside)
  open([4], fours - beside)
  open([3, 3], threePairs)
  open([3], Math.max(0, threes - beside - 2 * threePairs))
  open([], gpus - boards.length)
  let twosLeft = twos
  let onesLeft = ones
  for (const board of boards) {
    const places = board.length === 0 ? 3 : board.length > 1 || board[0] === 7 ? 0 : board[0] === 4 ? 1 : 2
    for (let i = 0; i < places && twosLeft > 0; i++, twosLeft--) board.push(2)
  }
  for (const board of boards) {
    // Two threes take all the memory slices, though a compute slice is left.
    if (board.length === 2 && board[1] === 3) continue
    let room = COMPUTE_SLICES - board.reduce<number>((sum, size) => sum + size, 0)
    for (; room > 0 && onesLeft > 0; room--, onesLeft--) board.push(1)
  }
  return boards.sort((a, b) => gpcsIn(b) - gpcsIn(a))
}

function gpcsIn(board: Board): number {
  return board.reduce<number>((sum, size) => sum + size, 0)
}

/**
 * Put segments on the fewest GPUs.
 *
 * @param counts by service and size
 * @param segmentOf what a segment of a service and size is, but for its start
 */
export function packSegments(
  counts: Int32Array,
  segmentOf: (service: number, size: SegmentSize) => Omit<PlannedSegment, 'start'>,
): PlannedGpu[] {
  const total = new Int32Array(SIZES)
  counts.forEach((count, i) => {
    total[i % SIZES]! += count
  })
  const left = counts.slice()
  const nextService: Record<SegmentSize, number> = { 1: 0, 2: 0, 3: 0, 4: 0, 7: 0 }
  const take = (size: SegmentSize): number => {
    while (left[nextService[size] * SIZES + sizeIndex[size]] === 0) nextService[size]++
    left[nextService[size] * SIZES + sizeIndex[size]]!--
    return nextService[size]
  }
  const known = new Map<string, number[]>()
  return packSizes(total).map((board, index) => {
    const key = board.join()
    const starts = known.get(key) ?? assignStarts(board)!
    known.set(key, starts)
    const segments = board.map((size, i) => ({ ...segmentOf(take(size), size), start: starts[i]! }))
    return { index, segments: segments.sort((a, b) => a.start - b.start) }
  })
}
