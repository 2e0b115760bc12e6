import { loadPerfModel, type PerfModel } from '@pctodl/perf-model'
import { assertKnownOptions, InvalidInputError, UnknownNameError } from '@pctodl/platform'
import type { PublishedParameters } from './published-parameters.js'
import type { PublishedPredictor } from './published-predictor.js'

export interface PctoDLPredictorOptions {
  /** The board, `3080ti` or `A100`; required unless `perfModel` is given. */
  readonly platform?: string | undefined
  /**
   * Dataset in the name of a published parameter set. Our own parameters are for images of 224 x 224, which both
   * datasets use.
   */
  readonly dataset?: string | undefined
  /** Memory clock, MHz. Default: the board's highest. */
  readonly memFreq?: number | undefined
  /** Model to use instead of the shipped one. */
  readonly perfModel?: PerfModel | undefined
  /** Published parameters. If given, predictions are those of the Python code. */
  readonly published?: PublishedParameters | undefined
}

/** The values of the tuple that the Python code's `predict_all` returns, as named fields. */
export interface AllMetrics {
  readonly smUtilPercent: number
  readonly memUtilPercent: number
  /** Samples/s over all tenants. */
  readonly throughput: number
  readonly powerW: number
}

const datasets = ['imagenet', 'caltech256']

const known = ['platform', 'dataset', 'memFreq', 'perfModel', 'published'] as const

/**
 * The interface of the Python code's `PctoDLPredictor`, for its users: one network, with lists of shares and batches.
 * It predicts with our model or, given `published`, what the Python code predicts. Use `PerfModel` for several
 * networks, latencies and standard deviations.
 */
export class PctoDLPredictor {
  readonly model: string
  readonly memClockMhz: number
  readonly #predict: (shares: readonly number[], batches: readonly number[], smClockMhz: number) => AllMetrics
  readonly #withMemFreq: (memFreq: number) => PctoDLPredictor

  /** @throws UnknownNameError or InvalidInputError for a network, board, dataset or memory clock without parameters */
  constructor(model: string, options: PctoDLPredictorOptions = {}) {
    assertKnownOptions('options', options, known)
    const { published, dataset, memFreq } = options
    this.#withMemFreq = (other) => new PctoDLPredictor(model, { ...options, memFreq: other })
    if (published) {
      const predictor: PublishedPredictor = published.predictor({ ...options, model })
      this.model = predictor.set!.model
      this.memClockMhz = predictor.memClockMhz!
      this.#predict = (shares, batches, smClockMhz) => predictor.predictAll(shares, batches, smClockMhz)
      return
    }
    if (dataset !== undefined) assertDataset(dataset)
    const perfModel = options.perfModel ?? shippedModel(options.platform)
    // Throws for an unknown network.
    perfModel.memoryBytes({ model, mpsPercent: 100, batchSize: 1 })
    this.model = model
    this.memClockMhz = memFreq ?? perfModel.memClocksMhz[0]!
    if (!perfModel.memClocksMhz.includes(this.memClockMhz)) {
      const expected = `a fitted memory clock: ${perfModel.memClocksMhz.join(', ')}`
      throw new InvalidInputError('memFreq', memFreq, expected)
    }
    this.#predict = (shares, batches, smClockMhz) => {
      const tenants = shares.map((mpsPercent, i) => ({ model: this.model, mpsPercent, batchSize: batches[i]! }))
      return perfModel.predict({ tenants, smClockMhz, memClockMhz: this.memClockMhz })
    }
  }

  /**
   * @param shares MPS percentages, one per tenant
   * @param batches batch sizes, one per tenant
   * @param smClockMhz SM clock, MHz
   * @param memFreq another memory clock for this call, MHz
   * @throws InvalidInputError for lists of unequal length, and what the predictor in use throws
   */
  predictAll(shares: readonly number[], batches: readonly number[], smClockMhz: number, memFreq?: number): AllMetrics {
    if (memFreq !== undefined && memFreq !== this.memClockMhz) {
      return this.#withMemFreq(memFreq).predictAll(shares, batches, smClockMhz)
    }
    for (const [field, list] of Object.entries({ shares, batches })) {
      if (!Array.isArray(list) && !ArrayBuffer.isView(list))
        throw new InvalidInputError(field, list, 'a list of numbers')
    }
    if (batches.length !== shares.length) {
      throw new InvalidInputError('batches', batches.length, `${shares.length} batches, one for each share`)
    }
    const { smUtilPercent, memUtilPercent, throughput, powerW } = this.#predict(shares, batches, smClockMhz)
    return { smUtilPercent, memUtilPercent, throughput, powerW }
  }
}

/** @throws UnknownNameError for a dataset whose images are not resized to 224 x 224 */
function assertDataset(dataset: string): void {
  if (!datasets.includes(dataset.toLowerCase())) throw new UnknownNameError('dataset', dataset, datasets)
}

function shippedModel(platform: string | undefined): PerfModel {
  if (platform === undefined) {
    throw new InvalidInputError('platform', platform, 'a board with shipped parameters (3080Ti, A100), or perfModel')
  }
  return loadPerfModel(platform)
}
