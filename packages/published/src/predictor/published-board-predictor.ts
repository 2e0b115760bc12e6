import type { Prediction, Predictor } from '@pctodl/perf-model'
import {
  type Configuration,
  findGpuSpec,
  type GpuSpec,
  InvalidInputError,
  smClocksAt,
  type Tenant,
} from '@pctodl/platform'
import { type PublishedParameters, publishedModelName } from './published-parameters.js'
import { type PublishedPredictor, publishedLayout } from './published-predictor.js'

export interface PublishedBoardOptions {
  /** The Python code's name of the board, `3080ti` or `a100`. */
  readonly platform: string
  readonly dataset?: string | undefined
  /**
   * Networks to predict. Only memory clocks at which each of them has a parameter set can be used. Default: all
   * networks of the parameters.
   */
  readonly models?: readonly string[] | undefined
  readonly smSystemStage?: boolean | undefined
  readonly ensembles?: boolean | undefined
  readonly oversubscribe?: boolean | undefined
  /**
   * Returns the memory that a tenant needs, bytes. The Python code does not predict memory, so the caller must give a
   * function, or `unchecked` for no memory limit.
   */
  readonly memoryBytes: ((tenant: Tenant) => number) | 'unchecked'
}

/**
 * Offers the Python code's predictor as a `Predictor`, with the Python code's limits. It rejects tenants of different
 * networks, utilisations may be outside 0..100, and the prediction depends on the order of the tenants. The Python code
 * predicts only the total throughput. Here the total is divided among the tenants in proportion to the throughput
 * predicted for each alone.
 */
export class PublishedBoardPredictor implements Predictor {
  readonly spec: GpuSpec
  readonly memClocksMhz: readonly number[]
  readonly #reference: PublishedParameters
  readonly #options: PublishedBoardOptions
  readonly #predictors = new Map<string, PublishedPredictor>()
  readonly #numbers = new Float64Array(publishedLayout.length)

  /**
   * @throws InvalidInputError if there is no memory clock at which every network has a parameter set
   * @throws UnknownNameError for an unknown platform
   */
  constructor(reference: PublishedParameters, options: PublishedBoardOptions) {
    const { platform, dataset, models = [...new Set(reference.sets.map((set) => set.model))] } = options
    this.spec = findGpuSpec(platform)
    const clocks = models.map((model) => reference.memClocksMhz({ model, platform, dataset }))
    const common = clocks[0]?.filter((clock) => clocks.every((list) => list.includes(clock))) ?? []
    this.memClocksMhz = common.filter((clock) => smClocksAt(this.spec, clock) !== undefined)
    if (this.memClocksMhz.length === 0) {
      const wanted = `${dataset ?? 'no dataset'} on ${platform} for ${models.join(', ')}`
      throw new InvalidInputError(
        'models',
        wanted,
        'networks with reference sets at a common memory clock of the board',
      )
    }
    this.#reference = reference
    this.#options = options
  }

  predict({ tenants, smClockMhz, memClockMhz }: Configuration): Prediction {
    const predictor = this.#predictorOf(tenants, memClockMhz)
    const shares = tenants.map((tenant) => tenant.mpsPercent)
    const batches = tenants.map((tenant) => tenant.batchSize)
    const { throughput, powerW, smUtilPercent, memUtilPercent } = predictor.predictAll(shares, batches, smClockMhz)
    const weights = tenants.map((tenant) => {
      predictor.predictInto([tenant.mpsPercent], [tenant.batchSize], smClockMhz, this.#numbers)
      return Math.max(0, this.#numbers[publishedLayout.throughput]!)
    })
    const sum = weights.reduce((total, weight) => total + weight, 0)
    return {
      throughput,
      powerW,
      smUtilPercent,
      memUtilPercent,
      tenants: tenants.map(({ batchSize }, i) => {
        // At the lowest clock the Python code can predict zero for every tenant. Then each tenant gets an equal part of
        // the total.
        const own = sum > 0 ? (throughput * weights[i]!) / sum : throughput / tenants.length
        return { throughput: own, latencyMs: (1e3 * batchSize) / own }
      }),
    }
  }

  /**
   * Returns the highest SM clock whose predicted power is within the cap, MHz, or undefined if there is none. It checks
   * every clock from the highest down, because the Python code's predicted power can rise as the clock falls.
   */
  solveSmClock(tenants: readonly Tenant[], memClockMhz: number, powerCapW: number): number | undefined {
    if (Number.isNaN(powerCapW)) throw new InvalidInputError('powerCapW', powerCapW, 'a number of watts')
    const clocks = smClocksAt(this.spec, memClockMhz) ?? []
    const numbers = this.#predictorOf(tenants, memClockMhz).predictClocks(
      tenants.map((tenant) => tenant.mpsPercent),
      tenants.map((tenant) => tenant.batchSize),
      clocks,
    )
    for (let i = clocks.length - 1; i >= 0; i--) {
      if (numbers[i * publishedLayout.length + publishedLayout.powerW]! <= powerCapW) return clocks[i]
    }
    return undefined
  }

  memoryBytes(tenant: Tenant): number {
    const { memoryBytes } = this.#options
    return memoryBytes === 'unchecked' ? 0 : memoryBytes(tenant)
  }

  #predictorOf(tenants: readonly Tenant[], memFreq: number): PublishedPredictor {
    if (!this.memClocksMhz.includes(memFreq)) {
      throw new InvalidInputError('memClockMhz', memFreq, `one with reference sets: ${this.memClocksMhz.join(', ')}`)
    }
    const model = tenants[0]?.model
    if (model === undefined) throw new InvalidInputError('tenants', [], 'at least one tenant')
    const stranger = tenants.find((tenant) => publishedModelName(tenant.model) !== publishedModelName(model))
    if (stranger) {
      throw new InvalidInputError(
        'tenants',
        stranger.model,
        `${model} throughout: the Python code predicts one network at a time`,
      )
    }
    const key = `${model} ${memFreq}`
    let predictor = this.#predictors.get(key)
    if (predictor === undefined) {
      predictor = this.#reference.predictor({ ...this.#options, model, memFreq })
      this.#predictors.set(key, predictor)
    }
    return predictor
  }
}
