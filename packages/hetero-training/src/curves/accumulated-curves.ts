import type { CurvePiece } from './curve-pieces.js'
import type { GpuCurves } from './gpu-curves.js'

/**
 * Curves of a GPU whose memory holds at most `maxMicroBatch` samples at once: larger shares are done as micro-batches, as few and as even as
 * there are, whose gradients are accumulated. n micro-batches of a share take n times as long as one of share / n, at its power: each pays the
 * fixed part of the time again. (The update of the weights, once a step, is counted with each of them: an upper bound.)
 *
 * @param maxMicroBatch at least 1
 * @param globalBatch the largest share asked for
 */
export function accumulatedCurves(curves: GpuCurves, maxMicroBatch: number, globalBatch: number): GpuCurves {
  const microBatches = (share: number) => Math.max(1, Math.ceil(share / maxMicroBatch))
  const cached: (readonly CurvePiece[])[] = []
  const piecesOf = (limit: number) =>
    (cached[limit] ??= accumulatedPieces(
      curves.pieces(limit, Math.min(maxMicroBatch, globalBatch)),
      maxMicroBatch,
      globalBatch,
    ))
  const at = (limit: number, share: number) => pieceOf(piecesOf(limit), share)
  return {
    ...curves,
    microBatches,
    timeSdAt: (limit, share) => curves.timeSdAt(limit, share / microBatches(share)),
    powerSdAt: (limit, share) => curves.powerSdAt(limit, share / microBatches(share)),
    timeS: (limit, share) => {
      if (share <= 0) return 0
      const { first, timeS, timeSlope } = at(limit, share)
      return timeS + timeSlope * (share - first)
    },
    powerW: (limit, share) => {
      if (share <= 0) return curves.idlePowerW
      const { first, powerW, powerSlope } = at(limit, share)
      return powerW + powerSlope * (share - first)
    },
    pieces: (limit, last) => {
      const pieces = piecesOf(limit)
      // There are thousands where micro-batches are small, and nearly always all of them are asked for.
      if (last >= globalBatch) return pieces
      return pieces.flatMap((piece) => (piece.first > last ? [] : [{ ...piece, last: Math.min(piece.last, last) }]))
    },
  }
}

function accumulatedPieces(of: readonly CurvePiece[], maxMicroBatch: number, last: number): CurvePiece[] {
  const pieces: CurvePiece[] = []
  for (let n = 1; (n - 1) * maxMicroBatch < last; n++) {
    for (const { first, last: end, timeS, timeSlope, powerW, powerSlope } of of) {
      const from = Math.max(n * (first - 1), (n - 1) * maxMicroBatch) + 1
      const to = Math.min(n * end, last)
      if (from > to) continue
      const on = from - n * first
      pieces.push({
        first: from,
        last: to,
        timeS: n * timeS + timeSlope * on,
        timeSlope,
        powerW: powerW + (powerSlope * on) / n,
        powerSlope: powerSlope / n,
      })
    }
  }
  return pieces
}

/** The piece with a share in it, by halving. */
function pieceOf(pieces: readonly CurvePiece[], share: number): CurvePiece {
  let low = 0
  let high = pieces.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if (pieces[middle]!.last < share) low = middle + 1
    else high = middle
  }
  return pieces[low]!
}
