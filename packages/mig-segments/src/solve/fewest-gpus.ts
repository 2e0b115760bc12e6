import type { SizeCounts } from './size-counts.js'

/** How a number of segments of each size fills the fewest boards. */
export interface BoardTally {
  readonly gpus: number
  /** Boards with two threes. */
  readonly threePairs: number
}

/**
 * Fewest boards that hold so many segments of each size, in constant time.
 *
 * A 7 fills a board and no two fours share one. Beside a 4 there is room for a 3, or for 3 GPCs of ones with at most one 2; a
 * 3 can always change places with what stands beside a 4, so threes go there first. Of the threes left, `b` pairs fill a
 * board each, and beside each other one there is room for 4 GPCs with at most two twos. What finds no room needs boards of
 * its own, 7 GPCs each with at most three twos; ones go anywhere. Only `b` is free. A pair more saves a board, and takes away room
 * for four twos and 8 GPCs, which is more than a board: so as many pairs as leave room for all ones and twos are best.
 */
export function fewestGpus(counts: SizeCounts): number {
  const ones = counts[0]!
  const twos = counts[1]!
  const fours = counts[3]!
  const sevens = counts[4]!
  const threesLeft = counts[2]! - fours
  if (threesLeft <= 0) return sevens + fours + ownBoards(ones, twos, -threesLeft, -3 * threesLeft)
  const pairs = mostIdlePairs(ones, twos, threesLeft)
  const single = threesLeft - 2 * pairs
  return sevens + fours + pairs + single + ownBoards(ones, twos, 2 * single, 4 * single)
}

/** The same with the number of pairs of threes that it takes. */
export function tallyBoards(counts: SizeCounts): BoardTally {
  return { gpus: fewestGpus(counts), threePairs: mostIdlePairs(counts[0]!, counts[1]!, counts[2]! - counts[3]!) }
}

/** Most pairs of threes with which ones and twos still fit beside the other threes; none where no threes are left. */
function mostIdlePairs(ones: number, twos: number, threes: number): number {
  const most = Math.floor(Math.min((2 * threes - twos) / 4, (4 * threes - 2 * twos - ones) / 8, threes / 2))
  return Math.max(0, most)
}

/** Boards for the ones and twos beyond so many places for twos and GPCs of room. */
function ownBoards(ones: number, twos: number, placesForTwos: number, roomGpcs: number): number {
  return Math.max(0, Math.ceil((twos - placesForTwos) / 3), Math.ceil((2 * twos + ones - roomGpcs) / 7))
}
