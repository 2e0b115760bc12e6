import { sum } from '@pctodl/numerics'
import type { GpuCurves } from './curves/gpu-curves.js'
import { assertInput } from './input-checks.js'
import { isSameSetting, settingText } from './profile/setting.js'
import { type PreparedJob, prepareJob, type TrainingJob } from './training-job.js'

/** What one GPU does in a step (or in a window, see `TrainingPlan.unit`). */
export interface GpuPlan {
  readonly name: string
  /** Samples; 0 for a GPU that is left out. */
  readonly share: number
  /** Power limit in force, W; null for a GPU that is left out. */
  readonly powerLimitW: number | null
  /** Locked SM clock, MHz; null if the firmware chooses it within the limit, and for a GPU that is left out. */
  readonly smClockMhz: number | null
  /** Compute time without waiting, s. */
  readonly timeS: number
  /** Time spent waiting for the other GPUs and for the gradient exchange, s. */
  readonly waitS: number
  /** Mean power while computing, W. */
  readonly powerW: number
  /** Energy, waiting included, J. */
  readonly energyJ: number
  readonly microBatches: number
  /** Whether the share, or its micro-batch, is beyond the profiled batch sizes: time and power are extrapolated. */
  readonly extrapolated: boolean
}

/** A split of the global batch with a power limit per GPU, and its predicted time and energy. */
export interface TrainingPlan {
  readonly gpus: readonly GpuPlan[]
  /** Unit of times and energies: one optimiser step, or one window of the profiles. */
  readonly unit: 'step' | 'window'
  readonly timeS: number
  /** Relative standard deviation, from the deviations of the profile and the extrapolation error beyond it. */
  readonly timeSd: number
  readonly energyJ: number
  readonly energySd: number
  /** eta * energy + (1 - eta) * sum of maximum limits * time, W s. */
  readonly cost: number
  /** Sum of the power limits in force; a GPU that is left out counts with its idle power, W. */
  readonly powerLimitW: number
}

/** A share of a GPU and a setting of its curves. A null limit means that the GPU is left out. */
export interface Assignment extends Pick<GpuPlan, 'share' | 'powerLimitW'> {
  /** Default: null, not locked. */
  readonly smClockMhz?: number | null
}

/**
 * Predict a job with given shares and settings, under the model `findPlan` uses.
 *
 * @param assignments one per GPU of the job
 * @throws InvalidInputError for an invalid job or assignment
 */
export function evaluatePlan(job: TrainingJob, assignments: readonly Assignment[]): TrainingPlan {
  const prepared = prepareJob(job)
  const count = job.gpus.length
  assertInput(assignments.length === count, 'assignments', assignments.length, `one per GPU (${count})`)
  for (const [i, { share, powerLimitW, smClockMhz = null }] of assignments.entries()) {
    const gpu = prepared.curves[i]!
    const isShare = Number.isInteger(share) && share >= 0
    assertInput(isShare, `${gpu.name}: share`, share, 'samples, an integer of at least 0')
    if (share === 0) continue
    const setting = powerLimitW === null ? 'none' : settingText({ powerLimitW, smClockMhz })
    const known = gpu.settings.map(settingText)
    assertInput(known.includes(setting), `${gpu.name}: setting`, setting, `one of ${known.join(', ')}`)
  }
  return evaluateAssignments(prepared, assignments)
}

/** A step lasts as long as the slowest GPU computes; then gradients are exchanged. Waiting GPUs draw idle power. */
export function evaluateAssignments(prepared: PreparedJob, assignments: readonly Assignment[]): TrainingPlan {
  const { curves, eta, allReduceS, maxPowerW, job } = prepared
  const work = assignments.map(({ share, powerLimitW, smClockMhz = null }, i) => {
    const gpu = curves[i]!
    if (share === 0 || powerLimitW === null) {
      const idle = { powerLimitW: null, smClockMhz: null, timeS: 0, powerW: gpu.idlePowerW }
      return { share, ...idle, timeSd: 0, powerSd: gpu.powerSd }
    }
    const setting = settingIndex(gpu, { powerLimitW, smClockMhz })
    return {
      share,
      powerLimitW,
      smClockMhz,
      timeS: gpu.timeS(setting, share),
      powerW: gpu.powerW(setting, share),
      timeSd: gpu.timeSdAt(setting, share),
      powerSd: gpu.powerSdAt(setting, share),
    }
  })
  const timeS = Math.max(...work.map((gpu) => gpu.timeS)) + allReduceS
  const gpus = work.map(({ share, powerLimitW, smClockMhz, timeS: computeS, powerW }, i): GpuPlan => {
    const gpu = curves[i]!
    const waitS = timeS - computeS
    const microBatches = gpu.microBatches(share)
    const batchSize = share / microBatches
    return {
      ...{ name: gpu.name, share, powerLimitW, smClockMhz, timeS: computeS, waitS, powerW },
      energyJ: powerW * computeS + gpu.idlePowerW * waitS,
      microBatches,
      extrapolated: batchSize > 0 && (batchSize < gpu.smallestProfiled || batchSize > gpu.largestProfiled),
    }
  })
  const energyJ = sum(gpus.map((gpu) => gpu.energyJ))
  const energySdJ = Math.hypot(...work.map((gpu, i) => gpus[i]!.energyJ * Math.hypot(gpu.timeSd, gpu.powerSd)))
  return {
    gpus,
    unit: job.gpus[0]!.profile.unit,
    timeS,
    timeSd: Math.max(...work.map((gpu) => (gpu.timeS / timeS) * gpu.timeSd)),
    energyJ,
    energySd: energyJ === 0 ? 0 : energySdJ / energyJ,
    cost: eta * energyJ + (1 - eta) * maxPowerW * timeS,
    powerLimitW: sum(gpus.map(({ powerLimitW }, i) => powerLimitW ?? curves[i]!.idlePowerW)),
  }
}

/** @returns -1 for a setting that is not in the curves */
export function settingIndex({ settings }: GpuCurves, setting: Parameters<typeof isSameSetting>[1]): number {
  return settings.findIndex((each) => isSameSetting(each, setting))
}

/** Fraction of a step that all GPUs spend waiting above which a warning is given. */
const MIN_WAITED = 0.02

export function planWarnings({ gpus, timeS, energyJ }: TrainingPlan, prepared: PreparedJob): string[] {
  const { curves, allReduceS } = prepared
  const warnings = gpus.flatMap(({ name, share, extrapolated }, i) => {
    if (!extrapolated) return []
    const { smallestProfiled, largestProfiled } = curves[i]!
    return [
      `${name}: a share of ${share} is beyond the profile (${smallestProfiled} to ${largestProfiled}); its time and power are ` +
        'extrapolated and it may not fit into memory',
    ]
  })
  if (allReduceS >= MIN_WAITED * timeS) {
    // While GPUs wait, a loaded process draws more than idle power. A limit on average power then allows more while
    // they compute.
    const above = gpus.map(({ share, powerW }, i) => (share === 0 ? 0 : (powerW - curves[i]!.idlePowerW) * allReduceS))
    warnings.push(
      `gradients are exchanged for ${((100 * allReduceS) / timeS).toFixed(0)} % of each step, in which GPUs are assumed to draw idle power; one that waits with a ` +
        `loaded process draws more, and a limit on average power lets it draw more while it computes: up to ` +
        `${(energyJ + sum(above)).toPrecision(3)} J per step instead of ${energyJ.toPrecision(3)}. To find out, profile with the exchange in each step, and plan without --all-reduce`,
    )
  }
  return [...warnings, ...prepared.warnings]
}
