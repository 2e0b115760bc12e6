import type { GpuCurves } from '../curves/gpu-curves.js'

/** Index of a power limit that stands for a GPU that takes no part. */
export const LEFT_OUT = -1

/** Which shares of one GPU are to be looked at, inclusive. */
export interface ShareRange {
  readonly first: number
  readonly last: number
}

/** What one GPU may do, as arrays over the share 0..B: the options that the search chooses from. */
export interface GpuOptions {
  readonly powerLimitsW: readonly number[]
  readonly idlePowerW: number
  /** Per limit, over the share: time, s; infinite where the share is not allowed. */
  readonly timeS: readonly Float64Array[]
  /** Per limit, over the share: energy above that of idling for as long, J. */
  readonly activeEnergyJ: readonly Float64Array[]
  readonly mayBeLeftOut: boolean
}

/**
 * @param limits indices of the limits of `curves` that may be used
 * @param allowed shares other than 0
 */
export function gpuOptions(
  curves: GpuCurves,
  globalBatch: number,
  limits: readonly number[],
  allowed: ShareRange,
  mayBeLeftOut: boolean,
): GpuOptions {
  const timeS: Float64Array[] = []
  const activeEnergyJ: Float64Array[] = []
  for (const limit of limits) {
    const time = new Float64Array(globalBatch + 1).fill(Number.POSITIVE_INFINITY)
    const energy = new Float64Array(globalBatch + 1)
    for (let share = allowed.first; share <= Math.min(allowed.last, globalBatch); share++) {
      const seconds = curves.timeS(limit, share)
      time[share] = seconds
      energy[share] = (curves.powerW(limit, share) - curves.idlePowerW) * seconds
    }
    timeS.push(time)
    activeEnergyJ.push(energy)
  }
  return {
    powerLimitsW: limits.map((limit) => curves.powerLimitsW[limit]!),
    idlePowerW: curves.idlePowerW,
    timeS,
    activeEnergyJ,
    mayBeLeftOut,
  }
}
