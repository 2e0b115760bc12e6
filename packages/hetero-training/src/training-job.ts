import { InvalidInputError } from '@pctodl/platform'
import { accumulatedCurves } from './curves/accumulated-curves.js'
import { curvesOf, type GpuCurves } from './curves/gpu-curves.js'
import type { CurveKind } from './curves/setting-lines.js'
import { type GpuProfile, profileWarnings } from './profile/gpu-profile.js'
import { type GpuOptions, gpuOptions } from './search/option-table.js'

/** A candidate GPU and its profile. */
export interface TrainingGpu {
  readonly profile: GpuProfile
  /** Maximum samples per step. Default: no limit; plans beyond the profile carry a warning. */
  readonly maxShare?: number
  /**
   * Maximum number of samples that fit in the GPU's memory at once. Larger shares are processed in micro-batches whose
   * gradients are accumulated.
   */
  readonly maxMicroBatch?: number
  /** Usable power limits, W, a subset of those in the profile. Default: all. */
  readonly powerLimitsW?: readonly number[]
  /** Usable SM clocks, MHz, a subset of those in the profile. Default: all that draw no more than the limits allow. */
  readonly smClocksMhz?: readonly number[]
}

/**
 * One synchronous data-parallel training job: in each step every GPU processes its share, then gradients are exchanged.
 */
export interface TrainingJob {
  readonly gpus: readonly TrainingGpu[]
  /** Samples per step over all GPUs. */
  readonly globalBatch: number
  /** Weight of energy against time in the cost, 0..1. Default 0.5. */
  readonly eta?: number
  /**
   * Duration of the gradient exchange after each step, during which the GPUs draw idle power, s (in the profiles'
   * unit). Default 0.
   */
  readonly allReduceS?: number
  /** Default `physical`. */
  readonly curves?: CurveKind
  /** Allow only shares between the smallest and the largest profiled batch size. Default false. */
  readonly profiledRangeOnly?: boolean
  /** Whether a GPU may get no samples; it then idles. Default true. */
  readonly mayLeaveOut?: boolean
}

/** A checked job with its curves and everything the searches need. */
export interface PreparedJob {
  readonly job: TrainingJob
  readonly curves: readonly GpuCurves[]
  readonly options: readonly GpuOptions[]
  /** For each GPU and each of its options, the index of the setting in the GPU's curves. */
  readonly limitIndices: readonly (readonly number[])[]
  readonly eta: number
  readonly allReduceS: number
  /** All GPUs idling, W. */
  readonly idlePowerW: number
  /** Sum of the maximum limits of all profiles, W. It weighs time against energy in the cost. */
  readonly maxPowerW: number
  readonly warnings: readonly string[]
}

/** @throws InvalidInputError naming the field */
export function prepareJob(job: TrainingJob): PreparedJob {
  const { gpus, globalBatch, eta = 0.5, allReduceS = 0, profiledRangeOnly = false, mayLeaveOut = true } = job
  if (gpus.length === 0) throw new InvalidInputError('gpus', 'none', 'at least one GPU')
  if (!Number.isInteger(globalBatch) || globalBatch < 1) {
    throw new InvalidInputError('globalBatch', globalBatch, 'a positive integer')
  }
  if (!(eta >= 0 && eta <= 1)) throw new InvalidInputError('eta', eta, 'a number from 0 (time only) to 1 (energy only)')
  if (!(Number.isFinite(allReduceS) && allReduceS >= 0)) {
    throw new InvalidInputError('allReduceS', allReduceS, 'seconds, at least 0')
  }
  const units = new Set(gpus.map(({ profile }) => profile.unit))
  if (units.size > 1) {
    throw new InvalidInputError(
      'gpus',
      gpus.map(({ profile }) => `${profile.name} in ${profile.unit}s`).join(', '),
      'profiles in one unit; add the number of steps to those in windows',
    )
  }
  const names = gpus.map(({ profile }) => profile.name)
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined) throw new InvalidInputError('gpus', `${twice} twice`, 'a different name for each GPU')
  const curves = gpus.map((gpu) => {
    const own = curvesOf(gpu.profile, job.curves)
    const { maxMicroBatch = globalBatch } = gpu
    if (!Number.isInteger(maxMicroBatch) || maxMicroBatch < 1) {
      throw new InvalidInputError(`${own.name}: maxMicroBatch`, maxMicroBatch, 'a positive integer')
    }
    return maxMicroBatch >= globalBatch ? own : accumulatedCurves(own, maxMicroBatch)
  })
  const limitIndices = gpus.map((gpu, i) => allowedSettings(gpu, curves[i]!))
  const options = gpus.map((gpu, i) => {
    const { smallestProfiled, largestProfiled } = curves[i]!
    if (gpu.maxShare !== undefined && (!Number.isInteger(gpu.maxShare) || gpu.maxShare < 1)) {
      throw new InvalidInputError(`${gpu.profile.name}: maxShare`, gpu.maxShare, 'a positive integer')
    }
    // Micro-batches of a profiled size are within the profile, whatever their number.
    const largest = curves[i]!.microBatches(globalBatch) > 1 ? globalBatch : largestProfiled
    const last = Math.min(globalBatch, gpu.maxShare ?? globalBatch, profiledRangeOnly ? largest : globalBatch)
    const allowed = { first: profiledRangeOnly ? smallestProfiled : 1, last }
    return gpuOptions(curves[i]!, globalBatch, limitIndices[i]!, allowed, mayLeaveOut)
  })
  return {
    job,
    curves,
    options,
    limitIndices,
    eta,
    allReduceS,
    idlePowerW: sum(curves.map((gpu) => gpu.idlePowerW)),
    maxPowerW: sum(curves.map(({ largestLimitW }) => largestLimitW)),
    warnings: gpus.flatMap(({ profile }) => profileWarnings(profile)),
  }
}

/** Indices of the usable settings. */
function allowedSettings(
  { profile: { name }, powerLimitsW, smClocksMhz }: TrainingGpu,
  { settings }: GpuCurves,
): number[] {
  const known = {
    powerLimitsW: settings.flatMap((each) => (each.smClockMhz === null ? [each.powerLimitW] : [])),
    smClocksMhz: settings.flatMap(({ smClockMhz }) => (smClockMhz === null ? [] : [smClockMhz])).sort((a, b) => a - b),
  }
  for (const [field, asked, unit] of [
    ['powerLimitsW', powerLimitsW, 'W'],
    ['smClocksMhz', smClocksMhz, 'MHz'],
  ] as const) {
    const unknown = asked?.find((value) => !known[field].includes(value))
    if (unknown === undefined) continue
    const what = field === 'powerLimitsW' ? 'limits' : 'locked clocks'
    const profiled = `${what} that were profiled: ${known[field].join(', ')} ${unit}`
    throw new InvalidInputError(
      `${name}: ${field}`,
      unknown,
      known[field].length > 0 ? profiled : `none: no ${what} were profiled`,
    )
  }
  if (powerLimitsW?.length === 0) throw new InvalidInputError(`${name}: powerLimitsW`, 'none', 'at least one')
  const maxW = powerLimitsW === undefined ? Number.POSITIVE_INFINITY : Math.max(...powerLimitsW)
  return settings.flatMap(({ powerLimitW, smClockMhz }, i) => {
    const isAllowed =
      smClockMhz === null
        ? (powerLimitsW?.includes(powerLimitW) ?? true)
        : powerLimitW <= maxW && (smClocksMhz?.includes(smClockMhz) ?? true)
    return isAllowed ? [i] : []
  })
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
