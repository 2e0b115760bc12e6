import type { PerfModel } from '@pctodl/perf-model'
import { BatchCostTable } from '@pctodl/perf-model/serving'
import {
  assertKnownOptions,
  assertServices,
  InvalidInputError,
  MAX_MPS_CLIENTS,
  type Service,
  smClocksAt,
} from '@pctodl/platform'
import { integer, number, oneOf, type SearchLimits, searchLimits } from '../search-options.js'
import { knownPlanOptions, type ServiceGoal, type ServicePlanOptions } from './plan-options.js'

/**
 * Largest planned batch, also if a service allows larger ones, because predictors are not fitted to larger batches.
 */
export const LARGEST_BATCH_SIZE = 256
const DEFAULT_BUDGET_EVALUATIONS = 2000
const DEFAULT_BATCH_SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256]

/** Requests/s assumed for a service with a rate of 0. */
export const MIN_RATE_PER_S = 1e-3
/** Maximum rate: far above the capacity of any board, but small enough for sums and squares. */
export const MAX_RATE_PER_S = 1e7

/** A service with its allowed batch sizes. */
export interface PlannedService {
  readonly service: Service
  /** Allowed batch sizes, ascending. */
  readonly batchSizes: readonly number[]
  /** Memory of a process for each batch size, bytes. */
  readonly memoryBytes: readonly number[]
}

/** Validated options with all defaults. */
export interface PlanProblem
  extends SearchLimits,
    Required<Pick<ServicePlanOptions, 'rateMargin' | 'loads' | 'maxInstances' | 'bound'>> {
  readonly model: PerfModel
  readonly goal: ServiceGoal
  readonly services: readonly PlannedService[]
  /** Services with their objectives shortened by the margin. */
  readonly objectives: readonly Service[]
  /** Requests/s to plan for, including the margin. */
  readonly ratesPerS: readonly number[]
  /** Requested rates, at least `MIN_RATE_PER_S`. */
  readonly askedPerS: readonly number[]
  /** Burstiness of each service's requests. */
  readonly burstiness: readonly number[]
  /** SM clocks of each memory state, ascending, MHz. */
  readonly smClocksMhz: readonly (readonly number[])[]
  readonly costs: BatchCostTable
  readonly startFrom: ServicePlanOptions['startFrom']
}

/**
 * Validate the options once; the rest of the package relies on them.
 *
 * @throws InvalidInputError that names the field
 * @throws UnknownNameError for a network that the model does not know
 */
export function planProblem(
  model: PerfModel,
  services: readonly Service[],
  ratesPerS: readonly number[],
  options: ServicePlanOptions,
): PlanProblem {
  assertKnownOptions('options', options, knownPlanOptions)
  assertServices(services)
  if (!Array.isArray(ratesPerS) || ratesPerS.length !== services.length) {
    throw new InvalidInputError('ratesPerS', ratesPerS, `${services.length} rates, one a service`)
  }
  ratesPerS.forEach((rate, i) => {
    number(`ratesPerS[${i}]`, rate, `requests/s between 0 and ${MAX_RATE_PER_S}`, (x) => x >= 0 && x <= MAX_RATE_PER_S)
  })
  const goal = oneOf('objective', options.objective, ['min-power', 'max-load', 'max-value'])
  if (goal === 'max-load' && ratesPerS.every((rate) => rate === 0)) {
    throw new InvalidInputError('ratesPerS', ratesPerS, 'a rate above 0: max-load looks for a factor on them')
  }
  const limits = searchLimits(
    model,
    options,
    { field: 'services', sharers: services.map(({ name }) => name) },
    { budgetEvaluations: DEFAULT_BUDGET_EVALUATIONS, timeBudgetMs: Infinity },
  )
  const rateMargin = number('rateMargin', options.rateMargin ?? 1.1, 'a factor from 1 to 10', (x) => x >= 1 && x <= 10)
  const latencyMargin = number(
    'latencyMargin',
    options.latencyMargin ?? 0.1,
    'a part from 0 to 0.9',
    (x) => x >= 0 && x <= 0.9,
  )
  const asked = ratesPerS.map((rate) => Math.max(MIN_RATE_PER_S, rate))
  const given = options.batchSizes ?? DEFAULT_BATCH_SIZES
  given.forEach((batchSize, i) => {
    integer(`batchSizes[${i}]`, batchSize, 1, LARGEST_BATCH_SIZE)
  })
  return {
    ...limits,
    model,
    goal,
    services: services.map((service) => {
      const most = Math.min(LARGEST_BATCH_SIZE, service.maxBatchSize)
      const sizes = [...new Set([...given.filter((size) => size <= most), ...(options.batchSizes ? [] : [most])])]
      const batchSizes = (sizes.length > 0 ? sizes : [most]).sort((a, b) => a - b)
      const memoryBytes = batchSizes.map((batchSize) =>
        model.memoryBytes({ model: service.model, mpsPercent: limits.sharePercentStep, batchSize }),
      )
      return { service, batchSizes, memoryBytes }
    }),
    objectives: services.map((service) => ({
      ...service,
      objective: { p99Ms: service.objective.p99Ms * (1 - latencyMargin) },
    })),
    ratesPerS: asked.map((rate) => rate * rateMargin),
    askedPerS: asked,
    rateMargin,
    loads: loadsOf(options.loads ?? [1]),
    burstiness: burstinessOf(options.burstiness ?? 1, services.length),
    maxInstances: integer('maxInstances', options.maxInstances ?? 4, 1, MAX_MPS_CLIENTS),
    smClocksMhz: limits.memClocksMhz.map((memClockMhz) => smClocks(model, memClockMhz, options.smClocksMhz)),
    costs: new BatchCostTable(model),
    startFrom: options.startFrom,
    bound: options.bound ?? false,
  }
}

function loadsOf(given: readonly number[]): readonly number[] {
  if (!Array.isArray(given) || given.length === 0) throw new InvalidInputError('loads', given, 'at least one factor')
  for (const [i, load] of given.entries()) number(`loads[${i}]`, load, 'a factor from 0 to 1', (x) => x >= 0 && x <= 1)
  return given
}

function burstinessOf(given: number | readonly number[], count: number): readonly number[] {
  const list = typeof given === 'number' ? new Array<number>(count).fill(given) : given
  if (list.length !== count) throw new InvalidInputError('burstiness', given, `a number, or ${count}: one a service`)
  list.forEach((value, i) => {
    number(`burstiness[${i}]`, value, 'a number from 1 to 1000', (x) => x >= 1 && x <= 1000)
  })
  return list
}

function smClocks(model: PerfModel, memClockMhz: number, given: readonly number[] | undefined): readonly number[] {
  const known = smClocksAt(model.spec, memClockMhz)!
  if (given === undefined) return known
  const clocks = known.filter((clock) => given.includes(clock))
  if (clocks.length === 0) {
    throw new InvalidInputError(
      'smClocksMhz',
      given,
      `clocks of ${model.spec.key} at ${memClockMhz} MHz memory: ${known[0]} to ${known.at(-1)} MHz`,
    )
  }
  return clocks
}
