import { InvalidInputError } from '@pctodl/platform'
import {
  memBase,
  memInterference,
  scalePower,
  scaleThroughput,
  smBase,
  smSystem,
  throughputPerUtilisation,
} from './closed-forms.js'
import { type ClosedFormParameters, type PublishedSetId, referenceDefaults } from './published-set.js'
import type { TreeEnsemble } from './tree-ensemble.js'

/** The result of the Python code's `predict_all`. Utilisations are percentages, but not clamped to 0..100. */
export interface PublishedPrediction {
  readonly smUtilPercent: number
  readonly memUtilPercent: number
  /** Throughput of all tenants together, samples/s. */
  readonly throughput: number
  readonly powerW: number
}

export interface PublishedEnsembles {
  readonly sm: TreeEnsemble
  readonly mem: TreeEnsemble
  readonly throughput: TreeEnsemble
  readonly power: TreeEnsemble
}

export interface PublishedStages {
  /**
   * Parameters of the closed forms; null to use the constants that the Python code falls back to if it finds no file.
   */
  readonly closedForms: ClosedFormParameters | null
  /** Tree ensembles that correct the closed forms; null to use only the closed forms. */
  readonly ensembles: PublishedEnsembles | null
  /**
   * Whether to apply the formula for the SM utilisation of several tenants. The Python code applies it when fitting but
   * not when predicting.
   */
  readonly smSystemStage: boolean
  /** Whether to accept shares that sum to more than 100. */
  readonly oversubscribe: boolean
}

const MEM_CLOCK_WHERE_UNKNOWN_MHZ = 9501
const DEFAULT_WORKLOAD = { gflops: 1000, params_M: 25 }

/** Predicts one network at one memory clock exactly as the published predictor does, including its defects. */
export class PublishedPredictor {
  readonly #stages: PublishedStages
  readonly #own = new Float64Array(64)

  constructor(
    /** The parameter set in use; null if the Python code's constants are used. */
    readonly set: PublishedSetId | null,
    readonly memClockMhz: number | undefined,
    stages: PublishedStages,
  ) {
    this.#stages = stages
  }

  /**
   * Predicts throughput, power and utilisation.
   *
   * @param shares MPS percentages of the tenants, above 0 and at most 100; the Python code's throughput ensemble uses
   *   the first share and batch size as extra features
   * @param batches batch sizes, one per share, at least 1
   * @param smClockMhz any positive clock; the Python code clamps it when scaling throughput and dynamic power, and
   *   extrapolates static power
   * @throws InvalidInputError for errors that the Python code ignores: empty or unequal lists, NaN, shares that sum to
   *   over 100
   */
  predictAll(shares: ArrayLike<number>, batches: ArrayLike<number>, smClockMhz: number): PublishedPrediction {
    return this.prepare(shares, batches)(smClockMhz)
  }

  /**
   * Returns `predictAll` of these tenants as a function of the SM clock. Utilisations and trees do not depend on the
   * clock, so they are evaluated only once.
   */
  prepare(shares: ArrayLike<number>, batches: ArrayLike<number>): (smClockMhz: number) => PublishedPrediction {
    const { closedForms, ensembles, smSystemStage, oversubscribe } = this.#stages
    const own = this.#own
    const count = shares.length
    assertLists(shares, batches, own.length, oversubscribe)

    let shareSum = 0
    let batchSum = 0
    for (let i = 0; i < count; i++) {
      shareSum += shares[i]!
      batchSum += batches[i]!
    }
    const shareMean = shareSum / count
    const batchMean = batchSum / count
    const shareVariance = variance(shares, shareMean)
    const batchVariance = variance(batches, batchMean)
    const { gflops, params_M } = closedForms?.workload ?? DEFAULT_WORKLOAD
    const memClock = (this.memClockMhz ?? MEM_CLOCK_WHERE_UNKNOWN_MHZ) / 1e4
    const workload = [memClock, gflops / 1000, params_M / 100, gflops / (params_M + 1)]

    let smSum = 0
    for (let i = 0; i < count; i++) {
      own[i] = closedForms ? smBase(closedForms.sm_base, shares[i]!, batches[i]!) : 0.8 * shares[i]!
      smSum += own[i]!
    }
    let smUtil = smSum
    if (smSystemStage && closedForms && count > 1) {
      smUtil = smSystem(closedForms.sm_system, own, count, smBase(closedForms.sm_base, 40, batches[0]!))
    }
    if (ensembles) {
      smUtil = ensembles.sm.predict([
        smUtil,
        smSum,
        count,
        shareVariance,
        batchVariance,
        batchMean,
        batchSum,
        shareMean,
        shareSum,
        ...workload,
      ])
    }

    let memSum = 0
    for (let i = 0; i < count; i++) {
      memSum += closedForms ? memBase(closedForms.mem_base, shares[i]!, batches[i]!) : 0.3 * shares[i]!
    }
    let memUtil = memSum
    if (closedForms && count > 1) {
      memUtil = memSum / (count + 1e-6) + memInterference(closedForms.mem_system, shareSum, batchSum, count)
    }
    if (ensembles) {
      memUtil = ensembles.mem.predict([
        memUtil,
        memSum,
        count,
        shareVariance,
        batchVariance,
        batchMean,
        batchSum,
        ...workload,
      ])
    }

    const scales = closedForms ?? referenceDefaults
    let throughput = throughputPerUtilisation(scales.throughput, batchMean) * memUtil
    if (ensembles) {
      throughput = ensembles.throughput.predict([
        throughput,
        memUtil,
        count,
        ...workload,
        batches[0]!,
        batchSum,
        batchMean,
        shares[0]!,
        shareSum,
        shareMean,
        shareVariance,
      ])
    }

    let dynamicW = 100
    if (ensembles) {
      dynamicW = ensembles.power.predict([
        smUtil,
        memUtil,
        count,
        count * params_M,
        shareMean,
        shareVariance,
        batchMean,
        this.memClockMhz === undefined ? 0.5 : memClock,
      ])
    }
    return (smClockMhz) => {
      if (!(smClockMhz > 0 && Number.isFinite(smClockMhz))) {
        throw new InvalidInputError('smClockMhz', smClockMhz, 'a clock above 0 MHz')
      }
      return {
        smUtilPercent: smUtil,
        memUtilPercent: memUtil,
        throughput: scaleThroughput(scales.throughput, throughput, smClockMhz),
        powerW: scalePower(scales.power, dynamicW, smClockMhz),
      }
    }
  }
}

/** Population variance. */
function variance(values: ArrayLike<number>, mean: number): number {
  let sum = 0
  for (let i = 0; i < values.length; i++) sum += (values[i]! - mean) ** 2
  return sum / values.length
}

function assertLists(
  shares: ArrayLike<number>,
  batches: ArrayLike<number>,
  most: number,
  oversubscribe: boolean,
): void {
  if (shares.length === 0 || shares.length > most) {
    throw new InvalidInputError('shares', shares.length, `from 1 to ${most} tenants`)
  }
  if (batches.length !== shares.length) {
    throw new InvalidInputError('batches', batches.length, `${shares.length} batches, one for each share`)
  }
  let sum = 0
  for (let i = 0; i < shares.length; i++) {
    const share = shares[i]!
    const batch = batches[i]!
    if (!(share > 0 && share <= 100)) {
      throw new InvalidInputError(`shares[${i}]`, share, 'a share above 0 and at most 100')
    }
    if (!(Number.isInteger(batch) && batch >= 1)) {
      throw new InvalidInputError(`batches[${i}]`, batch, 'an integer of at least 1')
    }
    sum += share
  }
  if (!oversubscribe && sum > 100 + 1e-9) {
    throw new InvalidInputError('sum of shares', sum, 'at most 100, or oversubscribe: true')
  }
}
