import { mean, nearestMonotoneGrid } from '@pctodl/numerics'
import { averageRepeats, batchSizesOf, type GpuProfile, limitsOf, locksOf } from '../profile/gpu-profile.js'
import { isSameSetting, type Setting } from '../profile/setting.js'

/**
 * `physical`: measurements adjusted to physical constraints (see `curvesOf`). `measured`: raw measurements with their
 * noise, and a model only between and beyond them.
 */
export type CurveKind = 'physical' | 'measured'

/** Time and power of a setting at each batch size of the profile. */
export interface SettingLine {
  readonly setting: Setting
  readonly timeS: readonly number[]
  readonly powerW: readonly number[]
}

/** Lines ordered by limit, and the deviations of the measurements from them: root mean squares of ln(measured / line). */
interface SettingLines {
  readonly lines: readonly SettingLine[]
  readonly timeSd: number
  readonly powerSd: number
}

export function settingLines(profile: GpuProfile, kind: CurveKind): SettingLines {
  const rows = averageRepeats(profile.rows)
  const batches = batchSizesOf(profile)
  const limits = limitsOf(profile)
  const grids = [limits.map((powerLimitW) => ({ powerLimitW, smClockMhz: null })), locksOf(profile)]
  const lines = grids.flatMap((settings) => {
    const measured = settings.map((setting) => {
      const own = rows.filter((row) => isSameSetting(setting, row))
      return batches.map((batchSize) => own.find((row) => row.batchSize === batchSize)!)
    })
    const times = measured.map((line) => line.map(({ timeS }) => timeS))
    const powers = measured.map((line) => line.map(({ energyJ, timeS }) => energyJ / timeS))
    const isMeasured = kind === 'measured'
    // Times fall with the limit (or clock) and rise with the batch; power rises with both.
    const timeS = isMeasured ? times : nonDecreasing(times.toReversed()).toReversed()
    const powerW = isMeasured ? powers : nonDecreasing(powers)
    return settings.map((setting, s) => ({
      setting: withLimit(setting, Math.max(...powers[s]!), limits[0]!),
      ...{ timeS: timeS[s]!, powerW: powerW[s]! },
      timeErrors: logErrors(times[s]!, timeS[s]!),
      powerErrors: logErrors(powers[s]!, powerW[s]!),
    }))
  })
  return {
    timeSd: rootMeanSquare(lines.flatMap(({ timeErrors }) => timeErrors)),
    powerSd: rootMeanSquare(lines.flatMap(({ powerErrors }) => powerErrors)),
    lines: lines.sort((a, b) => a.setting.powerLimitW - b.setting.powerLimitW),
  }
}

/** Margin above the power drawn at a locked clock, for noise and heat. */
const ROOM_ABOVE_DRAWN = 1.05
/** Keeps a rounding error from raising the limit by 1 W, for example if time and energy are scaled by one factor. */
const ROUNDING = 1e-9

/**
 * Returns the setting with the limit in force. A locked clock gets the lowest non-binding limit between the lowest
 * limit of the profile and its own, since these are known to be settable.
 */
function withLimit({ powerLimitW, smClockMhz }: Setting, drawnW: number, lowestW: number): Setting {
  if (smClockMhz === null) return { powerLimitW, smClockMhz }
  const enoughW = Math.max(lowestW, Math.ceil(ROOM_ABOVE_DRAWN * drawnW * (1 - ROUNDING)))
  return { smClockMhz, powerLimitW: Math.min(powerLimitW, enoughW) }
}

/** The nearest grid, in logarithms, whose values never fall along a row or a column. */
function nonDecreasing(grid: readonly (readonly number[])[]): number[][] {
  const columns = grid[0]?.length ?? 0
  if (columns === 0) return []
  const logs = Float64Array.from(grid.flat(), (value) => Math.log(value))
  const nearest = nearestMonotoneGrid(logs, grid.length, columns)
  return grid.map((_, r) => Array.from(nearest.subarray(r * columns, (r + 1) * columns), (value) => Math.exp(value)))
}

const logErrors = (measured: readonly number[], line: readonly number[]) =>
  measured.map((value, i) => Math.log(value / line[i]!))

const rootMeanSquare = (errors: readonly number[]) => Math.sqrt(mean(errors.map((error) => error ** 2)))
