import { InvalidInputError } from '@pctodl/platform'
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

/**
 * Time and power of one GPU as functions of its share of the batch, for each setting: a power limit, or a locked SM
 * clock.
 */
export interface GpuCurves {
  readonly name: string
  /**
   * Power limits and locked clocks, indexed by `limitIndex`, ascending by the limit in force. The limit of a locked
   * clock is slightly above the power drawn. It never binds, but counts towards a power budget.
   */
  readonly settings: readonly Setting[]
  /** Power limit in force for each of the `settings`, W. */
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
  /** Same for power. */
  readonly powerSd: number
  /** Relative standard deviation of `timeS` at a share: `timeSd`, plus the extrapolation error beyond the profile. */
  timeSdAt(limitIndex: number, share: number): number
  /** Same for `powerW`. */
  powerSdAt(limitIndex: number, share: number): number
  /** @returns s per step (or per window, see `GpuProfile.unit`); 0 for a share of 0 */
  timeS(limitIndex: number, share: number): number
  /** Mean power while computing, W; between idle power and the limit. */
  powerW(limitIndex: number, share: number): number
  /** Number of sequential parts in which a share is processed for lack of memory; 1 if it fits. */
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
 * Beyond the profile, the uncertainty is the extrapolation error, see `extrapolation-error.ts`.
 *
 * @throws InvalidInputError as `assertProfile`, and for idle power above a power limit
 */
export function curvesOf(profile: GpuProfile, kind: CurveKind = 'physical'): GpuCurves {
  assertProfile(profile)
  const limits = limitsOf(profile)
  const batches = batchSizesOf(profile)
  const idlePowerW = profile.idlePowerW ?? 0
  if (idlePowerW >= limits[0]!) {
    throw new InvalidInputError(
      `${profile.name}: idle power`,
      idlePowerW,
      `below the lowest power limit, ${limits[0]} W`,
    )
  }
  const { lines, timeSd, powerSd } = settingLines(profile, kind)
  const settings = lines.map(({ setting }) => setting)
  const powerLimitsW = settings.map(({ powerLimitW }) => powerLimitW)
  const times = lines.map(({ timeS }) => timeS)
  const powers = lines.map(({ powerW }) => powerW)
  const first = batches[0]!
  const last = batches.at(-1)!
  const sdAt = (within: number, lines: readonly (readonly number[])[], continuation: Continuation) => {
    const error = extrapolationError(batches, lines, continuation)
    return (limitIndex: number, share: number) => {
      if (share <= 0) return 0
      if (share < first) return Math.hypot(within, errorBelow(batches, lines[limitIndex]!, share))
      return share <= last ? within : Math.hypot(within, error * Math.log(share / last))
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
    timeS: (limitIndex, share) => (share <= 0 ? 0 : valueAt(batches, times[limitIndex]!, share, continuedLine)),
    powerW: (limitIndex, share) => {
      if (share <= 0) return idlePowerW
      const watts = valueAt(batches, powers[limitIndex]!, share, continuedFlat)
      return Math.max(idlePowerW, Math.min(watts, powerLimitsW[limitIndex]!))
    },
    microBatches: () => 1,
  }
}

/** Value of a curve at any share: constant below the first batch size, linear between batch sizes. */
function valueAt(batches: readonly number[], values: readonly number[], share: number, continuation: Continuation): number {
  if (share <= batches[0]!) return values[0]!
  const i = batches.findIndex((batchSize) => batchSize >= share)
  if (i < 0) return continuation(batches, values, batches.length - 1, share)
  // A measured point is returned unchanged: rounding would make a flat line fall.
  if (share === batches[i]!) return values[i]!
  const left = batches[i - 1]!
  return values[i - 1]! + ((share - left) / (batches[i]! - left)) * (values[i]! - values[i - 1]!)
}
