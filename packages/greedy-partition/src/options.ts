import type { Predictor } from '@pctodl/perf-model'
import { InvalidInputError, MAX_MPS_CLIENTS } from '@pctodl/platform'
import { publishedBatchSizes, type TenantKinds, tenantKinds } from './tenant-kinds.js'

/** Kinds are numbered in 16 bits. */
const MOST_KINDS = 65535

/** One of the networks that share the board. */
export interface NetworkDemand {
  readonly model: string
  /** Worth of one sample of this network, 1 unless given. `1 / throughput alone` makes the objective a sum of speedups. */
  readonly weight?: number
}

export interface PartitionOptions {
  /** The network to serve, or several; each of several gets at least one tenant. */
  readonly models: string | readonly NetworkDemand[]
  /** W. */
  readonly powerCapW: number
  /** Watts to stay below the cap. Default 0. */
  readonly powerMarginW?: number
  /** Shares are multiples of this, percent; an integer 1..100. Default 5. */
  readonly sharePercentStep?: number
  /** Memory clocks to choose from, MHz. Default: all that the predictor knows. */
  readonly memClocksMhz?: readonly number[]
  /** Most tenants. Default 48, the MPS client limit. */
  readonly maxTenants?: number
  /** Largest share of one tenant, percent. Default 100. */
  readonly maxSharePercent?: number
  /** Batch sizes to choose from. Default 4, 8, 16, 32, 64, 96, 128, 192, 256. */
  readonly batchSizes?: readonly number[]
  /** Largest batch size of one tenant. Default: the largest of `batchSizes`. */
  readonly maxBatchSize?: number
  /** Most mean batch latency that any tenant may have, ms. Default: no bound. */
  readonly latencySloMs?: number
  /** Device memory for all tenants together, bytes. Default: the board's. */
  readonly memoryBytes?: number
  /** Most configurations to evaluate (a clock solve and a prediction each). Default 4000. */
  readonly budgetEvaluations?: number
  /** Most time, ms on `now`. Results then depend on the speed of the machine. Default: no limit. */
  readonly timeBudgetMs?: number
  /** Monotonic milliseconds; needed with `timeBudgetMs`. */
  readonly now?: () => number
  /** Seed of the order in which improving moves are tried. Default 1. */
  readonly seed?: number
  /** `false` ends after the greedy stage, for comparisons. Default true. */
  readonly improve?: boolean
}

/** Checked options, everything filled in. Networks and memory clocks are in canonical order. */
export interface SearchProblem {
  readonly kinds: TenantKinds
  /** By network, in the order of `kinds.networks`. */
  readonly weights: readonly number[]
  readonly powerCapW: number
  readonly powerMarginW: number
  /** Cap less margin: what predicted power may be at most, W. */
  readonly powerLimitW: number
  /** The whole board in units of the share step. */
  readonly totalUnits: number
  /** Descending. */
  readonly memClocksMhz: readonly number[]
  readonly maxTenants: number
  readonly latencySloMs: number
  readonly memoryBytes: number
  readonly budgetEvaluations: number
  readonly timeBudgetMs: number
  readonly now: () => number
  readonly seed: number
  readonly improve: boolean
}

/**
 * Check the options once; inside the package they are trusted.
 *
 * @throws InvalidInputError naming the field
 */
export function searchProblem(predictor: Predictor, options: PartitionOptions): SearchProblem {
  const demands = networkDemands(options.models)
  const powerCapW = number('powerCapW', options.powerCapW, 'a positive number of watts', (x) => x > 0 && x < Infinity)
  const powerMarginW = number(
    'powerMarginW',
    options.powerMarginW ?? 0,
    'watts of at least 0 and below the cap',
    (x) => x >= 0 && x < powerCapW,
  )
  const step = integer('sharePercentStep', options.sharePercentStep ?? 5, 1, 100)
  const maxSharePercent = number(
    'maxSharePercent',
    options.maxSharePercent ?? 100,
    `a percentage from ${step} (the share step) to 100`,
    (x) => x >= step && x <= 100,
  )
  const totalUnits = Math.floor(100 / step)
  const maxTenants = integer('maxTenants', options.maxTenants ?? MAX_MPS_CLIENTS, 1, MAX_MPS_CLIENTS)
  if (demands.length > Math.min(maxTenants, totalUnits)) {
    throw new InvalidInputError(
      'models',
      demands.map((demand) => demand.model),
      `at most ${Math.min(maxTenants, totalUnits)} networks, so that each can have a tenant (maxTenants, sharePercentStep)`,
    )
  }
  if (options.timeBudgetMs !== undefined && options.now === undefined) {
    throw new InvalidInputError('now', undefined, 'a function that returns milliseconds, because timeBudgetMs is given')
  }
  const kinds = tenantKinds({
    networks: demands.map((demand) => demand.model),
    sharePercentStep: step,
    maxSharePercent,
    batchSizes: batchSizes(options),
    memoryBytesOf: (tenant) => predictor.memoryBytes(tenant),
  })
  if (kinds.tenants.length > MOST_KINDS) {
    throw new InvalidInputError(
      'batchSizes',
      options.batchSizes,
      `fewer sizes, or a larger sharePercentStep: at most ${MOST_KINDS} combinations of network, share and batch size`,
    )
  }
  return {
    kinds,
    weights: kinds.networks.map((name) => demands.find((demand) => demand.model === name)!.weight),
    powerCapW,
    powerMarginW,
    powerLimitW: powerCapW - powerMarginW,
    totalUnits,
    memClocksMhz: memClocks(predictor, options.memClocksMhz),
    maxTenants,
    latencySloMs: number('latencySloMs', options.latencySloMs ?? Infinity, 'milliseconds above 0', (x) => x > 0),
    memoryBytes: number(
      'memoryBytes',
      options.memoryBytes ?? predictor.spec.memoryBytes,
      'bytes above 0',
      (x) => x > 0,
    ),
    budgetEvaluations: integer('budgetEvaluations', options.budgetEvaluations ?? 4000, 1, Number.MAX_SAFE_INTEGER),
    timeBudgetMs: number('timeBudgetMs', options.timeBudgetMs ?? Infinity, 'milliseconds above 0', (x) => x > 0),
    now: options.now ?? (() => 0),
    seed: integer('seed', options.seed ?? 1, 0, 2 ** 32 - 1),
    improve: options.improve ?? true,
  }
}

function networkDemands(models: PartitionOptions['models']): { model: string; weight: number }[] {
  const list = typeof models === 'string' ? [{ model: models }] : models
  if (!Array.isArray(list) || list.length === 0) {
    throw new InvalidInputError('models', models, 'the name of a network, or a list of { model, weight? }')
  }
  const seen = new Set<string>()
  return list.map(({ model, weight = 1 }: NetworkDemand, i) => {
    if (typeof model !== 'string' || model === '') {
      throw new InvalidInputError(`models[${i}].model`, model, 'the name of a network')
    }
    if (seen.has(model)) throw new InvalidInputError(`models[${i}].model`, model, 'each network once')
    seen.add(model)
    number(`models[${i}].weight`, weight, 'a positive number', (x) => x > 0 && x < Infinity)
    return { model, weight }
  })
}

function batchSizes(options: PartitionOptions): readonly number[] {
  const given = options.batchSizes ?? publishedBatchSizes
  given.forEach((batchSize, i) => {
    integer(`batchSizes[${i}]`, batchSize, 1, 65536)
  })
  const most = integer('maxBatchSize', options.maxBatchSize ?? 65536, 1, 65536)
  const sizes = [...new Set(given)].filter((batchSize) => batchSize <= most).sort((a, b) => a - b)
  if (sizes.length === 0) {
    throw new InvalidInputError(
      'maxBatchSize',
      options.maxBatchSize,
      `at least one of batchSizes (${given.join(', ')})`,
    )
  }
  return sizes
}

function memClocks(predictor: Predictor, given: readonly number[] | undefined): readonly number[] {
  const clocks = [...new Set(given ?? predictor.memClocksMhz)].sort((a, b) => b - a)
  const known = predictor.memClocksMhz
  const stray = clocks.find((clock) => !known.includes(clock))
  if (stray !== undefined || clocks.length === 0) {
    throw new InvalidInputError(
      'memClocksMhz',
      given,
      `memory clocks that the predictor knows (${known.join(', ')} MHz)`,
    )
  }
  return clocks
}

function number(field: string, value: number, expected: string, holds: (value: number) => boolean): number {
  if (typeof value !== 'number' || !holds(value)) throw new InvalidInputError(field, value, expected)
  return value
}

function integer(field: string, value: number, least: number, most: number): number {
  return number(
    field,
    value,
    `an integer from ${least} to ${most}`,
    (x) => Number.isInteger(x) && x >= least && x <= most,
  )
}
