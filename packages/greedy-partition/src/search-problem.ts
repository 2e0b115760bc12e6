import type { Predictor } from '@pctodl/perf-model'
import { assertKnownOptions, InvalidInputError } from '@pctodl/platform'
import { knownOptions, type NetworkDemand, type PartitionOptions } from './options.js'
import { riskOfEach } from './plan-risk.js'
import { integer, number, oneOf, type SearchLimits, searchLimits } from './search-options.js'
import { defaultBatchSizes, type TenantKinds, tenantKinds } from './tenant-kinds.js'

/** Maximum number of kinds, because kinds are numbered in 16 bits. */
const MAX_KINDS = 65535

const DEFAULT_BUDGET_EVALUATIONS = 4000
const DEFAULT_TIME_BUDGET_MS = 50

/**
 * Default limit of a plan's distance. At a larger distance, the predictor is less than half as certain as at its least
 * certain measured rows, so a plan that looks good there is mostly prediction error.
 */
const DEFAULT_MAX_DISTANCE = 2

/** Validated options with all defaults. Networks and memory clocks are in canonical order. */
export interface SearchProblem
  extends SearchLimits,
    Required<Pick<PartitionOptions, 'latencyPercentile' | 'maxDistance' | 'objective'>> {
  readonly kinds: TenantKinds
  /** Weight of each network in the objective, in the order of `kinds.networks`. */
  readonly weights: readonly number[]
  readonly capExceedanceProbability: number | undefined
  /** Allowed probability for a single configuration (see `riskOfEach`); undefined without a chance constraint. */
  readonly riskOfEach: number | undefined
  /** Latency SLO of each network, ms; Infinity for no bound. */
  readonly latencySloMs: readonly number[]
  /** Minimum throughput of each network, samples/s; 0 for no bound. */
  readonly minTenantThroughput: readonly number[]
  /** Whether any network has an SLO or a minimum throughput. */
  readonly boundsTenants: boolean
}

/**
 * Validate the options once; the rest of the package relies on them.
 *
 * @throws InvalidInputError that names the field
 */
export function searchProblem(predictor: Predictor, options: PartitionOptions): SearchProblem {
  assertKnownOptions('options', options, knownOptions)
  const demands = networkDemands(options)
  const limits = searchLimits(
    predictor,
    options,
    { field: 'models', sharers: demands.map((demand) => demand.model) },
    {
      budgetEvaluations: DEFAULT_BUDGET_EVALUATIONS,
      timeBudgetMs: options.now === undefined ? Infinity : DEFAULT_TIME_BUDGET_MS,
    },
  )
  const step = limits.sharePercentStep
  const maxSharePercent = number(
    'maxSharePercent',
    options.maxSharePercent ?? 100,
    `a percentage from ${step} (the share step) to 100`,
    (x) => x >= step && x <= 100,
  )
  const kinds = tenantKinds({
    networks: demands.map((demand) => demand.model),
    sharePercentStep: step,
    maxSharePercent,
    batchSizes: batchSizes(options),
    minBatchPerPercent: number(
      'minBatchPerPercent',
      options.minBatchPerPercent ?? 0,
      'samples per percent from 0 to 6.4',
      (x) => x >= 0 && x <= 6.4,
    ),
    memoryBytesOf: (tenant) => predictor.memoryBytes(tenant),
  })
  if (kinds.tenants.length > MAX_KINDS) {
    throw new InvalidInputError(
      'batchSizes',
      options.batchSizes,
      `fewer sizes, or a larger sharePercentStep: at most ${MAX_KINDS} combinations of network, share and batch size`,
    )
  }
  const ordered = kinds.networks.map((name) => demands.find((demand) => demand.model === name)!)
  const latencySloMs = ordered.map((demand) => demand.latencySloMs)
  const minTenantThroughput = ordered.map((demand) => demand.minTenantThroughput)
  const probability = options.capExceedanceProbability
  if (probability !== undefined) {
    number('capExceedanceProbability', probability, 'a probability from 1e-9 to 0.5', (x) => x >= 1e-9 && x <= 0.5)
  }
  return {
    ...limits,
    kinds,
    weights: ordered.map((demand) => demand.weight),
    capExceedanceProbability: probability,
    riskOfEach: probability === undefined ? undefined : riskOfEach(probability),
    latencySloMs,
    latencyPercentile: oneOf('latencyPercentile', options.latencyPercentile ?? 'mean', ['mean', 'p99']),
    minTenantThroughput,
    boundsTenants: latencySloMs.some((ms) => ms < Infinity) || minTenantThroughput.some((least) => least > 0),
    maxDistance: number(
      'maxDistance',
      options.maxDistance ?? DEFAULT_MAX_DISTANCE,
      'a number of at least 1',
      (x) => x >= 1,
    ),
    objective: oneOf('objective', options.objective ?? 'throughput', ['throughput', 'few-processes']),
  }
}

function networkDemands(options: PartitionOptions): Required<NetworkDemand>[] {
  const { models } = options
  const list = typeof models === 'string' ? [{ model: models }] : models
  if (!Array.isArray(list) || list.length === 0) {
    throw new InvalidInputError('models', models, 'the name of a network, or a list of { model, weight? }')
  }
  const sloMs = latencySlo('latencySloMs', options.latencySloMs ?? Infinity)
  const least = minThroughput('minTenantThroughput', options.minTenantThroughput ?? 0)
  const seen = new Set<string>()
  return list.map((demand: NetworkDemand | null, i) => {
    const { model, weight = 1, ...own } = Object(demand) as NetworkDemand
    if (typeof model !== 'string' || model === '') {
      throw new InvalidInputError(`models[${i}].model`, model, 'the name of a network')
    }
    if (seen.has(model)) throw new InvalidInputError(`models[${i}].model`, model, 'each network once')
    seen.add(model)
    return {
      model,
      weight: number(`models[${i}].weight`, weight, 'a number from 1e-100 to 1e100', (x) => x >= 1e-100 && x <= 1e100),
      latencySloMs: latencySlo(`models[${i}].latencySloMs`, own.latencySloMs ?? sloMs),
      minTenantThroughput: minThroughput(`models[${i}].minTenantThroughput`, own.minTenantThroughput ?? least),
    }
  })
}

function latencySlo(field: string, value: number): number {
  return number(field, value, 'milliseconds above 0', (x) => x > 0)
}

function minThroughput(field: string, value: number): number {
  return number(field, value, 'samples/s of at least 0', (x) => x >= 0 && x < Infinity)
}

function batchSizes(options: PartitionOptions): readonly number[] {
  const given = options.batchSizes ?? defaultBatchSizes
  if (!Array.isArray(given)) throw new InvalidInputError('batchSizes', given, 'a list of batch sizes')
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
