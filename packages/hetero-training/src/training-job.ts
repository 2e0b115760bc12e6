import { sum } from '@pctodl/numerics'
import { curvesOf, type GpuCurves } from './curves/gpu-curves.js'
import type { CurveKind } from './curves/setting-lines.js'
import { assertInput, assertPositiveInteger, repeated } from './input-checks.js'
import { type GpuProfile, limitsOf, locksOf, profileWarnings } from './profile/gpu-profile.js'
import type { Setting } from './profile/setting.js'
import { type GpuOptions, gpuOptions } from './search/option-table.js'

export interface TrainingGpu {
  readonly profile: GpuProfile
  /** Maximum samples per step. Default: no limit; plans beyond the profile carry a warning. */
  readonly maxShare?: number
  /** Maximum samples that fit in memory at once. Larger shares are processed in micro-batches. */
  readonly maxMicroBatch?: number
  /** Usable power limits, W, a subset of those in the profile. Default: all. */
  readonly powerLimitsW?: readonly number[]
  /** Usable SM clocks, MHz, a subset of those in the profile. Default: all that draw no more than the limits allow. */
  readonly smClocksMhz?: readonly number[]
}

/** A synchronous data-parallel job: in each step every GPU processes its share, then gradients are exchanged. */
export interface TrainingJob {
  readonly gpus: readonly TrainingGpu[]
  readonly globalBatch: number
  /** Weight of energy against time in the cost, 0..1. Default 0.5. */
  readonly eta?: number
  /** Gradient exchange after each step (or window), during which the GPUs draw idle power, s. Default 0. */
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
  assertInput(gpus.length > 0, 'gpus', 'none', 'at least one GPU')
  assertPositiveInteger('globalBatch', globalBatch)
  assertInput(eta >= 0 && eta <= 1, 'eta', eta, 'a number from 0 (time only) to 1 (energy only)')
  assertInput(Number.isFinite(allReduceS) && allReduceS >= 0, 'allReduceS', allReduceS, 'seconds, at least 0')
  const profiles = gpus.map(({ profile }) => profile)
  assertInput(
    profiles.every(({ unit }) => unit === profiles[0]!.unit),
    'gpus',
    profiles.map(({ name, unit }) => `${name} in ${unit}s`).join(', '),
    'profiles in one unit; add the number of steps to those in windows',
  )
  const twice = repeated(profiles.map(({ name }) => name))
  assertInput(twice === undefined, 'gpus', `${twice} twice`, 'a different name for each GPU')
  const curves = gpus.map(({ profile, maxMicroBatch = globalBatch, maxShare = globalBatch }) => {
    const own = curvesOf(profile, job.curves, maxMicroBatch)
    assertPositiveInteger(`${own.name}: maxMicroBatch`, maxMicroBatch)
    assertPositiveInteger(`${own.name}: maxShare`, maxShare)
    return own
  })
  const options = gpus.map((gpu, i) => {
    const { smallestProfiled, largestProfiled } = curves[i]!
    // Micro-batches of a profiled size are within the profile, whatever their number.
    const largest = curves[i]!.microBatches(globalBatch) > 1 ? globalBatch : largestProfiled
    const last = Math.min(globalBatch, gpu.maxShare ?? globalBatch, profiledRangeOnly ? largest : globalBatch)
    const allowed = { first: profiledRangeOnly ? smallestProfiled : 1, last }
    return gpuOptions(curves[i]!, globalBatch, usableSettings(gpu, curves[i]!), allowed, mayLeaveOut)
  })
  return {
    job,
    curves,
    options,
    eta,
    allReduceS,
    idlePowerW: sum(curves.map((gpu) => gpu.idlePowerW)),
    maxPowerW: sum(curves.map(({ largestLimitW }) => largestLimitW)),
    warnings: profiles.flatMap(profileWarnings),
  }
}

function usableSettings({ profile, powerLimitsW, smClocksMhz }: TrainingGpu, { settings }: GpuCurves): number[] {
  const clocks = locksOf(profile).map(({ smClockMhz }) => smClockMhz)
  for (const [field, asked = [], known, what, unit] of [
    ['powerLimitsW', powerLimitsW, limitsOf(profile), 'limits', 'W'],
    ['smClocksMhz', smClocksMhz, clocks, 'locked clocks', 'MHz'],
  ] as const) {
    const unknown = asked.find((value) => !known.includes(value))
    const expected =
      known.length > 0 ? `${what} that were profiled: ${known.join(', ')} ${unit}` : `none: no ${what} were profiled`
    assertInput(unknown === undefined, `${profile.name}: ${field}`, unknown, expected)
  }
  assertInput(powerLimitsW?.length !== 0, `${profile.name}: powerLimitsW`, 'none', 'at least one')
  const maxW = powerLimitsW === undefined ? Infinity : Math.max(...powerLimitsW)
  const isUsable = ({ powerLimitW, smClockMhz }: Setting) =>
    smClockMhz === null
      ? (powerLimitsW?.includes(powerLimitW) ?? true)
      : powerLimitW <= maxW && (smClocksMhz?.includes(smClockMhz) ?? true)
  return settings.flatMap((setting, i) => (isUsable(setting) ? [i] : []))
}
