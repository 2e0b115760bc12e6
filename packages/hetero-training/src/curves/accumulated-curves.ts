import type { GpuCurves } from './gpu-curves.js'

/**
 * Curves of a GPU whose memory holds at most `maxMicroBatch` samples: larger shares are split into the fewest possible
 * micro-batches of even size, whose gradients are accumulated. n micro-batches of a share take n times as long as one
 * of share / n, at the same power: each pays the fixed part of the time again. (The weight update, made once a step, is
 * counted for each of them: an upper bound.)
 */
export function accumulatedCurves(curves: GpuCurves, maxMicroBatch: number): GpuCurves {
  const microBatches = (share: number) => Math.max(1, Math.ceil(share / maxMicroBatch))
  const ofPart = (of: (limitIndex: number, share: number) => number) => (limitIndex: number, share: number) =>
    of(limitIndex, share / microBatches(share))
  return {
    ...curves,
    microBatches,
    timeSdAt: ofPart(curves.timeSdAt),
    powerSdAt: ofPart(curves.powerSdAt),
    timeS: (limitIndex, share) => microBatches(share) * curves.timeS(limitIndex, share / microBatches(share)),
    powerW: ofPart(curves.powerW),
  }
}
