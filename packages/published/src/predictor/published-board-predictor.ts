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
  /** Networks to predict, at the memory clocks common to their sets. Default: all networks of the parameters. */
  readonly models?: readonly string[] | undefined
  readonly smSystemStage?: boolean | undefined
  readonly ensembles?: boolean | undefined
  readonly oversubscribe?: boolean | undefined
  /**
   * Returns the memory of a tenant, bytes. The Python code does not model it, so the caller must choose: a function, or
   * `unchecked`.
   */
  readonly memoryBytes: ((tenant: Tenant) => number) | 'unchecked'
}

/**
 * The Python code's predictor behind the `Predictor` interface, with its limits. It rejects tenants of several
 * networks, utilisations may leave 0..100, and the prediction depends on the order of the tenants. The Python code
 * predicts only the total throughput. Here it is divided in proportion to the prediction for each tenant alone.
 */
export class PublishedBoardPredictor implements Predictor {
  readonly spec: GpuSpec
  readonly memClocksMhz: readonly number[]
  readonly #reference: PublishedParameters
  readonly #options: PublishedBoardOptions
  readonly #predictors = new Map<string, PublishedPredictor>()
  readonly #numbers = new Float64Array(publishedLayout.length)

  /**
   * @throws InvalidInputError if no memory clock has sets of all networks
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
        // At the lowest clock the Python code can predict zero for every tenant. Throughput is then divided evenly.
        const own = sum > 0 ? (throughput * weights[i]!) / sum : throughput / tenants.length
        return { throughput: own, latencyMs: (1e3 * batchSize) / own }
      }),
    }
  }

  /**
   * Scans the clock table from the highest clock down: power predicted by the Python code can rise as the clock falls.
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
