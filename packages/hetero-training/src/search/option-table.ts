import type { GpuCurves } from '../curves/gpu-curves.js'

/** Limit index of a GPU that takes no part. */
export const LEFT_OUT = -1

/** Range of shares of one GPU to be searched, inclusive. */
export interface ShareRange {
  readonly first: number
  readonly last: number
}

/** Time and energy of every share 0..B under one limit. */
export interface ShareTable {
  /** Time, s; infinite if the share is not allowed. */
  readonly timeS: Float64Array
  /** Energy above idle over the same time, J. */
  readonly activeEnergyJ: Float64Array
}

/** Options of one GPU in the search. */
export interface GpuOptions {
  readonly powerLimitsW: readonly number[]
  readonly idlePowerW: number
  readonly mayBeLeftOut: boolean
  /** Time, s; infinite if the share is not allowed. */
  timeS(limit: number, share: number): number
  /** Energy above idle over the same time, J. */
  activeEnergyJ(limit: number, share: number): number
  /**
   * Time and energy of all shares. Created on demand, since tables for many GPUs with many limits would fill memory
   * with entries no search reads.
   */
  table(limit: number): ShareTable
}

/**
 * @param limits indices of the usable limits of `curves`
 * @param allowed allowed shares other than 0
 */
export function gpuOptions(
  curves: GpuCurves,
  globalBatch: number,
  limits: readonly number[],
  allowed: ShareRange,
  mayBeLeftOut: boolean,
): GpuOptions {
  const tables: ShareTable[] = []
  const timeS = (limit: number, share: number) =>
    share >= allowed.first && share <= allowed.last ? curves.timeS(limits[limit]!, share) : Number.POSITIVE_INFINITY
  const activeEnergyJ = (limit: number, share: number) =>
    (curves.powerW(limits[limit]!, share) - curves.idlePowerW) * curves.timeS(limits[limit]!, share)
  return {
    powerLimitsW: limits.map((limit) => curves.powerLimitsW[limit]!),
    idlePowerW: curves.idlePowerW,
    mayBeLeftOut,
    timeS,
    activeEnergyJ,
    table: (limit) =>
      (tables[limit] ??= shareTable(
        globalBatch,
        (share) => timeS(limit, share),
        (share) => activeEnergyJ(limit, share),
      )),
  }
}

/** Only the limits from `first` to `last`. */
export function withLimits(gpu: GpuOptions, first: number, last: number, mayBeLeftOut: boolean): GpuOptions {
  return {
    powerLimitsW: gpu.powerLimitsW.slice(first, last + 1),
    idlePowerW: gpu.idlePowerW,
    mayBeLeftOut,
    timeS: (limit, share) => gpu.timeS(first + limit, share),
    activeEnergyJ: (limit, share) => gpu.activeEnergyJ(first + limit, share),
    table: (limit) => gpu.table(first + limit),
  }
}

function shareTable(
  globalBatch: number,
  timeS: (share: number) => number,
  activeEnergyJ: (share: number) => number,
): ShareTable {
  const table = { timeS: new Float64Array(globalBatch + 1), activeEnergyJ: new Float64Array(globalBatch + 1) }
  for (let share = 0; share <= globalBatch; share++) {
    table.timeS[share] = timeS(share)
    table.activeEnergyJ[share] = activeEnergyJ(share)
  }
  return table
}
