import type { GpuCurves } from '../curves/gpu-curves.js'
import type { Setting } from '../profile/setting.js'

/** Limit index of a GPU that is left out. */
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

export interface GpuOptions {
  /** Ascending by power limit. */
  readonly settings: readonly Setting[]
  readonly idlePowerW: number
  readonly mayBeLeftOut: boolean
  /** Time and energy of all shares, computed on demand: with many GPUs and limits, most are never read. */
  table(limit: number): ShareTable
}

/**
 * @param usable indices of the usable settings of `curves`
 * @param allowed allowed shares other than 0
 */
export function gpuOptions(
  curves: GpuCurves,
  globalBatch: number,
  usable: readonly number[],
  allowed: ShareRange,
  mayBeLeftOut: boolean,
): GpuOptions {
  const tables: ShareTable[] = []
  const tableOf = (setting: number): ShareTable => {
    const table = { timeS: new Float64Array(globalBatch + 1), activeEnergyJ: new Float64Array(globalBatch + 1) }
    for (let share = 0; share <= globalBatch; share++) {
      const timeS = curves.timeS(setting, share)
      table.timeS[share] = share >= allowed.first && share <= allowed.last ? timeS : Infinity
      table.activeEnergyJ[share] = (curves.powerW(setting, share) - curves.idlePowerW) * timeS
    }
    return table
  }
  return {
    settings: usable.map((setting) => curves.settings[setting]!),
    idlePowerW: curves.idlePowerW,
    mayBeLeftOut,
    table: (limit) => (tables[limit] ??= tableOf(usable[limit]!)),
  }
}

/** A GPU with a single option: a limit, or to be left out. */
export function onlyLevel(gpu: GpuOptions, level: number): GpuOptions {
  const mayBeLeftOut = level === LEFT_OUT
  const settings = mayBeLeftOut ? [] : [gpu.settings[level]!]
  return { settings, idlePowerW: gpu.idlePowerW, mayBeLeftOut, table: () => gpu.table(level) }
}
