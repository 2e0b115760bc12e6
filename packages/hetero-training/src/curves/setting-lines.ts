import { nearestMonotoneGrid } from '@pctodl/numerics'
import {
  averageRepeats,
  batchSizesOf,
  type GpuProfile,
  limitsOf,
  locksOf,
  type ProfileRow,
} from '../profile/gpu-profile.js'
import { isSameSetting, type Setting } from '../profile/setting.js'

/**
 * `physical`: measurements adjusted to physical constraints (see `curvesOf`). `measured`: raw measurements with their
 * noise, and a model only between and beyond them.
 */
export const curveKinds = ['physical', 'measured'] as const
export type CurveKind = (typeof curveKinds)[number]

/** Time and power of one setting at each batch size of its profile. */
export interface SettingLine {
  readonly setting: Setting
  /** s */
  readonly timeS: Float64Array
  /** W */
  readonly powerW: Float64Array
}

/**
 * Returns the lines of a profile's settings, ordered by limit, and the deviations of the measurements from the lines:
 * root mean squares of ln(measured / line).
 */
export function settingLines(
  profile: GpuProfile,
  kind: CurveKind,
): { readonly lines: readonly SettingLine[]; readonly timeSd: number; readonly powerSd: number } {
  const rows = averageRepeats(profile.rows)
  const batches = batchSizesOf(profile)
  const limits = limitsOf(profile)
  const unlocked = limits.map((powerLimitW) => ({ powerLimitW, smClockMhz: null }))
  const grids = [unlocked, locksOf(profile)].map((settings) => gridOf(rows, settings, batches, kind))
  const lines = grids.flatMap(({ settings, time, power, measuredPower }) => {
    const line = (grid: Float64Array, s: number) => grid.subarray(s * batches.length, (s + 1) * batches.length)
    return settings.map((setting, s) => ({
      setting: withLimit(setting, Math.max(...line(measuredPower, s)), limits[0]!),
      timeS: line(time, s),
      powerW: line(power, s),
    }))
  })
  return {
    lines: lines.sort((a, b) => a.setting.powerLimitW - b.setting.powerLimitW),
    timeSd: deviation(grids.map(({ measuredTime, time }) => [measuredTime, time])),
    powerSd: deviation(grids.map(({ measuredPower, power }) => [measuredPower, power])),
  }
}

/** Margin above the power drawn at a locked clock, for noise and heat. */
const ROOM_ABOVE_DRAWN = 1.05
/**
 * Tolerance for a whole number of watts. If time and energy are scaled by one factor, as for a GPU that throttles, the
 * power is the same up to rounding, and the limit must be the same.
 */
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

/** Returns the measurements under settings of one kind and the curves through them, one line per setting. */
function gridOf(
  rows: readonly ProfileRow[],
  settings: readonly Setting[],
  batches: readonly number[],
  kind: CurveKind,
) {
  const columns = batches.length
  const measuredTime = new Float64Array(settings.length * columns)
  const measuredPower = new Float64Array(settings.length * columns)
  for (const row of rows) {
    const s = settings.findIndex((setting) => isSameSetting(setting, row))
    if (s < 0) continue
    const at = s * columns + batches.indexOf(row.batchSize)
    measuredTime[at] = row.timeS
    measuredPower[at] = row.energyJ / row.timeS
  }
  const isMeasured = kind === 'measured' || settings.length === 0
  const time = isMeasured ? measuredTime : physicalTime(measuredTime, settings.length, columns)
  const power = isMeasured ? measuredPower : physicalPower(measuredPower, settings.length, columns)
  return { settings, measuredTime, measuredPower, time, power }
}

/** Adjusts times so that they fall with the limit and rise with the batch. */
function physicalTime(measured: Float64Array, rows: number, columns: number): Float64Array {
  const flipped = flipRows(measured.map(Math.log), rows, columns)
  return flipRows(nearestMonotoneGrid(flipped, rows, columns).map(Math.exp), rows, columns)
}

function physicalPower(measured: Float64Array, rows: number, columns: number): Float64Array {
  return nearestMonotoneGrid(measured.map(Math.log), rows, columns).map(Math.exp)
}

function flipRows(grid: Float64Array, rows: number, columns: number): Float64Array {
  const flipped = new Float64Array(grid.length)
  for (let r = 0; r < rows; r++) flipped.set(grid.subarray(r * columns, (r + 1) * columns), (rows - 1 - r) * columns)
  return flipped
}

function deviation(grids: readonly (readonly [measured: Float64Array, line: Float64Array])[]): number {
  let squares = 0
  let count = 0
  for (const [measured, line] of grids) {
    count += line.length
    line.forEach((value, i) => {
      squares += Math.log(measured[i]! / value) ** 2
    })
  }
  return Math.sqrt(squares / count)
}
