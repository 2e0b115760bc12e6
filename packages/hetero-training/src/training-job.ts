import { InvalidInputError } from '@pctodl/platform'
import { accumulatedCurves } from './curves/accumulated-curves.js'
import { type CurveKind, curvesOf, type GpuCurves } from './curves/gpu-curves.js'
import { largestMicroBatch, type MemoryModel } from './memory-model.js'
import { type GpuProfile, profileWarnings } from './profile/gpu-profile.js'
import { type GpuOptions, gpuOptions } from './search/option-table.js'

/** A GPU that may take part, with what is known of it. */
export interface TrainingGpu {
  readonly profile: GpuProfile
  /** Most samples a step. Default: no limit; plans beyond the profile carry a warning. */
  readonly maxShare?: number
  /** Most samples that its memory holds at once: larger shares are done in micro-batches whose gradients are accumulated. */
  readonly maxMicroBatch?: number
  /** The same from what a sample takes of the memory. */
  readonly memory?: MemoryModel
  /** Power limits that may be set, W, of those in the profile. Default: all. */
  readonly powerLimitsW?: readonly number[]
}

/** One synchronous data-parallel training job: in each step every GPU processes its share, then gradients are exchanged. */
export interface TrainingJob {
  readonly gpus: readonly TrainingGpu[]
  /** Samples of a step over all GPUs. */
  readonly globalBatch: number
  /** Weight of energy against time in the cost, 0..1. Default 0.5. */
  readonly eta?: number
  /** Gradient exchange after each step, during which the GPUs draw idle power, s (in the profiles' unit). Default 0. */
  readonly allReduceS?: number
  /** Default `physical`. */
  readonly curves?: CurveKind
  /** Only shares between the smallest and the largest profiled batch size. Default false. */
  readonly profiledRangeOnly?: boolean
  /** A GPU may get no samples at all; it then idles. Default true. */
  readonly mayLeaveOut?: boolean
}

/** A job with its curves and everything that searches need of it, checked. */
export interface PreparedJob {
  readonly job: TrainingJob
  readonly curves: readonly GpuCurves[]
  readonly options: readonly GpuOptions[]
  /** Per GPU, the index in its curves of each limit in its options. */
  readonly limitIndices: readonly (readonly number[])[]
  readonly eta: number
  readonly allReduceS: number
  /** All GPUs idling, W. */
  readonly idlePowerW: number
  /** Sum of the largest limit of each profile, W: what the cost pays for a second of time. */
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
      'profiles in one unit; write the number of steps into those that count in windows',
    )
  }
  const names = gpus.map(({ profile }) => profile.name)
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined) throw new InvalidInputError('gpus', `${twice} twice`, 'a different name for each GPU')
  const curves = gpus.map((gpu) => {
    const own = curvesOf(gpu.profile, job.curves)
    const most = microBatchOf(gpu)
    return most === null || most >= globalBatch ? own : accumulatedCurves(own, most, globalBatch)
  })
  const limitIndices = gpus.map((gpu, i) => allowedLimits(gpu, curves[i]!))
  const options = gpus.map((gpu, i) => {
    const { smallestProfiled, largestProfiled } = curves[i]!
    if (gpu.maxShare !== undefined && (!Number.isInteger(gpu.maxShare) || gpu.maxShare < 1)) {
      throw new InvalidInputError(`${gpu.profile.name}: maxShare`, gpu.maxShare, 'a positive integer')
    }
    // Micro-batches of a size that was profiled are within the profile, however many there are.
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
    maxPowerW: sum(curves.map(({ powerLimitsW }) => powerLimitsW.at(-1)!)),
    warnings: gpus.flatMap(({ profile }) => profileWarnings(profile)),
  }
}

/** @returns null where nothing is known of its memory */
function microBatchOf({ profile: { name }, maxMicroBatch, memory }: TrainingGpu): number | null {
  if (maxMicroBatch !== undefined && memory !== undefined) {
    throw new InvalidInputError(`${name}: maxMicroBatch`, maxMicroBatch, 'either this or memory, not both')
  }
  if (memory !== undefined) return largestMicroBatch(memory, `${name}: memory`)
  if (maxMicroBatch === undefined) return null
  if (!Number.isInteger(maxMicroBatch) || maxMicroBatch < 1) {
    throw new InvalidInputError(`${name}: maxMicroBatch`, maxMicroBatch, 'a positive integer')
  }
  return maxMicroBatch
}

function allowedLimits({ profile, powerLimitsW }: TrainingGpu, curves: GpuCurves): number[] {
  const all = curves.powerLimitsW.map((_, i) => i)
  if (powerLimitsW === undefined) return all
  for (const limit of powerLimitsW) {
    if (!curves.powerLimitsW.includes(limit)) {
      throw new InvalidInputError(
        `${profile.name}: powerLimitsW`,
        limit,
        `limits that were profiled: ${curves.powerLimitsW.join(', ')} W`,
      )
    }
  }
  if (powerLimitsW.length === 0) throw new InvalidInputError(`${profile.name}: powerLimitsW`, 'none', 'at least one')
  return all.filter((i) => powerLimitsW.includes(curves.powerLimitsW[i]!))
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
