import type { GpuCurves } from './gpu-curves.js'

/**
 * Returns the curves of a GPU whose memory holds at most `maxMicroBatch` samples. Larger shares are split into the
 * fewest micro-batches of even size, whose gradients are accumulated. n micro-batches of a share take n times as long
 * as one of share / n, at the same power, because each takes the fixed part of the time again. (The weight update, made
 * once a step, is counted for each micro-batch, so the time is an upper bound.)
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
