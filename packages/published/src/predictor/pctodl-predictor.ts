import { loadPerfModel, type PerfModel } from '@pctodl/perf-model'
import { assertKnownOptions, InvalidInputError, UnknownNameError } from '@pctodl/platform'
import type { PublishedParameters } from './published-parameters.js'
import type { PublishedPredictor } from './published-predictor.js'

export interface PctoDLPredictorOptions {
  /** Board: `3080ti` or `A100`. Required unless `perfModel` is given. */
  readonly platform?: string | undefined
  /**
   * Dataset that is part of the name of a published parameter set. It does not change predictions of our own model,
   * which is for images of 224 x 224.
   */
  readonly dataset?: string | undefined
  /** Memory clock, MHz. Default: the board's highest. */
  readonly memFreq?: number | undefined
  /** Our model to use instead of the one that ships for the board. */
  readonly perfModel?: PerfModel | undefined
  /** Published parameters. With them, predictions are those of the Python code. */
  readonly published?: PublishedParameters | undefined
}

/** The values that the Python code's `predict_all` returns as a tuple, as named fields. */
export interface AllMetrics {
  readonly smUtilPercent: number
  readonly memUtilPercent: number
  /** Throughput of all tenants together, samples/s. */
  readonly throughput: number
  readonly powerW: number
}

const datasets = ['imagenet', 'caltech256']

const known = ['platform', 'dataset', 'memFreq', 'perfModel', 'published'] as const

/**
 * Has the interface of the Python code's `PctoDLPredictor`, for users of that code: one network, with a list of shares
 * and a list of batch sizes. It predicts with our model or, given `published`, what the Python code predicts. Use
 * `PerfModel` for several networks, latencies and standard deviations.
 */
export class PctoDLPredictor {
  readonly memClockMhz: number
  readonly #predict: (shares: readonly number[], batches: readonly number[], smClockMhz: number) => AllMetrics
  readonly #withMemFreq: (memFreq: number) => PctoDLPredictor

  /** @throws UnknownNameError or InvalidInputError for a network, board, dataset or memory clock without parameters */
  constructor(
    readonly model: string,
    options: PctoDLPredictorOptions = {},
  ) {
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
    // This call throws for a network that the model does not know.
    perfModel.memoryBytes({ model, mpsPercent: 100, batchSize: 1 })
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
   * Predicts throughput, power and utilisation of the network's tenants.
   *
   * @param shares MPS percentages, one per tenant
   * @param batches batch sizes, one per tenant
   * @param smClockMhz SM clock, MHz
   * @param memFreq memory clock for this call instead of the default, MHz
   * @throws InvalidInputError for lists of unequal length, and the errors of the predictor in use
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
