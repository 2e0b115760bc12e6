import { assertInput } from '../input-checks.js'
import { assertProfile, batchSizesOf, type GpuProfile, limitsOf } from '../profile/gpu-profile.js'
import type { Setting } from '../profile/setting.js'
import {
  type Continuation,
  continuedFlat,
  continuedLine,
  errorBelow,
  extrapolationError,
} from './extrapolation-error.js'
import { type CurveKind, settingLines } from './setting-lines.js'

/** Time and power of one GPU as functions of its share of the batch, for each power limit or locked SM clock. */
export interface GpuCurves {
  readonly name: string
  /**
   * Power limits and locked clocks, indexed by `limitIndex`, ascending by the limit in force. The limit of a locked
   * clock is slightly above the power drawn. It never binds, but counts towards a power budget.
   */
  readonly settings: readonly Setting[]
  readonly powerLimitsW: readonly number[]
  /** Largest limit without a locked clock, W. */
  readonly largestLimitW: number
  readonly idlePowerW: number
  readonly smallestProfiled: number
  readonly largestProfiled: number
  /**
   * Relative standard deviation of the time curve within the profile: root mean square of ln(measured / curve); 0 for
   * `measured`.
   */
  readonly timeSd: number
  readonly powerSd: number
  /** Relative standard deviation of `timeS` at a share: `timeSd`, plus the extrapolation error beyond the profile. */
  timeSdAt(limitIndex: number, share: number): number
  powerSdAt(limitIndex: number, share: number): number
  /** @returns s per step (or per window, see `GpuProfile.unit`); 0 for a share of 0 */
  timeS(limitIndex: number, share: number): number
  /** @returns mean power while computing, W; between idle power and the limit */
  powerW(limitIndex: number, share: number): number
  /** @returns number of sequential parts in which a share is processed for lack of memory; 1 if it fits */
  microBatches(share: number): number
}

/**
 * Returns curves through a profile, piecewise linear in the share. Below the smallest profiled batch, time is constant;
 * above the largest it follows the last slope (never falling). Power is constant beyond the profile, and stays between
 * idle power and the limit.
 *
 * `physical` curves do not go through the measurements but through the nearest monotone grid (least squares of
 * logarithms). In it, time never falls with the batch or rises with the limit, and power never falls with either.
 * Locked clocks have a separate grid, in which the clock replaces the limit. The deviations of the measurements from
 * the grid estimate the measurement error.
 *
 * Shares above `maxMicroBatch` are split into the fewest micro-batches of even size, whose gradients are accumulated. n
 * micro-batches of a share take n times as long as one of share / n, at the same power, because each takes the fixed
 * part of the time again. (The weight update, made once a step, is counted for each micro-batch, so the time is an upper
 * bound.)
 *
 * @throws InvalidInputError as `assertProfile`, and for idle power above a power limit
 */
export function curvesOf(
  profile: GpuProfile,
  kind: CurveKind = 'physical',
  maxMicroBatch: number = Infinity,
): GpuCurves {
  assertProfile(profile)
  const limits = limitsOf(profile)
  const batches = batchSizesOf(profile)
  const idlePowerW = profile.idlePowerW ?? 0
  const expected = `below the lowest power limit, ${limits[0]} W`
  assertInput(idlePowerW < limits[0]!, `${profile.name}: idle power`, idlePowerW, expected)
  const { lines, timeSd, powerSd } = settingLines(profile, kind)
  const settings = lines.map(({ setting }) => setting)
  const powerLimitsW = settings.map(({ powerLimitW }) => powerLimitW)
  const times = lines.map(({ timeS }) => timeS)
  const powers = lines.map(({ powerW }) => powerW)
  const microBatches = (share: number) => Math.max(1, Math.ceil(share / maxMicroBatch))
  const first = batches[0]!
  const last = batches.at(-1)!
  const sdAt = (within: number, lines: readonly (readonly number[])[], continuation: Continuation) => {
    const error = extrapolationError(batches, lines, continuation)
    return (limitIndex: number, share: number) => {
      const batch = share / microBatches(share)
      if (batch <= 0) return 0
      if (batch < first) return Math.hypot(within, errorBelow(batches, lines[limitIndex]!, batch))
      return batch <= last ? within : Math.hypot(within, error * Math.log(batch / last))
    }
  }
  return {
    name: profile.name,
    settings,
    powerLimitsW,
    largestLimitW: limits.at(-1)!,
    idlePowerW,
    smallestProfiled: first,
    largestProfiled: last,
    timeSd,
    powerSd,
    timeSdAt: sdAt(timeSd, times, continuedLine),
    powerSdAt: sdAt(powerSd, powers, continuedFlat),
    timeS: (limitIndex, share) => {
      if (share <= 0) return 0
      const parts = microBatches(share)
      return parts * valueAt(batches, times[limitIndex]!, share / parts, continuedLine)
    },
    powerW: (limitIndex, share) => {
      if (share <= 0) return idlePowerW
      const watts = valueAt(batches, powers[limitIndex]!, share / microBatches(share), continuedFlat)
      return Math.max(idlePowerW, Math.min(watts, powerLimitsW[limitIndex]!))
    },
    microBatches,
  }
}

/** Value of a curve at any share: constant below the first batch size, linear between batch sizes. */
function valueAt(
  batches: readonly number[],
  values: readonly number[],
  share: number,
  continuation: Continuation,
): number {
  if (share <= batches[0]!) return values[0]!
  const i = batches.findIndex((batchSize) => batchSize >= share)
  if (i < 0) return continuation(batches, values, batches.length - 1, share)
  // A measured point is returned unchanged: rounding would make a flat line fall.
  if (share === batches[i]!) return values[i]!
  const left = batches[i - 1]!
  return values[i - 1]! + ((share - left) / (batches[i]! - left)) * (values[i]! - values[i - 1]!)
}
