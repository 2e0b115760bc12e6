import type { Predictor } from '@pctodl/perf-model'
import { InvalidInputError, MAX_MPS_CLIENTS } from '@pctodl/platform'

/** Options that plans for tenants and plans for services share. */
export interface SearchOptions {
  /** Power cap, W. A cap above the board's highest limit is reduced to that limit, and the result reports it. */
  readonly powerCapW: number
  /** Margin between the planned power and the cap, W. Default 0. */
  readonly powerMarginW?: number
  /** Step of the shares, percent; an integer 1..100. Default 5. */
  readonly sharePercentStep?: number
  /** Memory clocks to choose from, MHz. Default: all memory clocks that the predictor knows. */
  readonly memClocksMhz?: readonly number[]
  /** Maximum number of tenants. Default 48, the MPS client limit. */
  readonly maxTenants?: number
  /**
   * Device memory for all tenants, bytes, at most the board's memory. Default: the board's memory minus its reserved
   * memory.
   */
  readonly memoryBytes?: number
  /** Monotonic clock in milliseconds, such as `performance.now`. Required for a time limit. */
  readonly now?: () => number
  /** Seed of the order in which moves are tried. Default 1. */
  readonly seed?: number
  /** `false` skips the improvement stage and returns the best start, for comparisons. Default true. */
  readonly improve?: boolean
  /** Maximum number of configurations to evaluate. Default 4000; 2000 layouts for services. */
  readonly budgetEvaluations?: number
  /** Time limit, measured with `now`, ms. Results then depend on the speed of the machine. */
  readonly timeBudgetMs?: number
}

/** Names of the search options, to detect misspelt ones. */
export const knownSearchOptions = [
  'powerCapW',
  'powerMarginW',
  'sharePercentStep',
  'memClocksMhz',
  'maxTenants',
  'memoryBytes',
  'now',
  'seed',
  'improve',
  'budgetEvaluations',
  'timeBudgetMs',
] as const

/** Search options, validated and with all defaults, and what follows from them. */
export interface SearchLimits extends Required<Omit<SearchOptions, 'timeBudgetMs'>> {
  /** The board's highest power limit, W; set if it replaced a higher requested cap. */
  readonly boardLimitW: number | undefined
  /** Cap less margin: the maximum predicted power, W. */
  readonly powerLimitW: number
  /** The whole board in units of the share step. */
  readonly totalUnits: number
  /** Reading of `now` at which the time budget is spent, ms. */
  readonly deadlineMs: number
}

/**
 * Validate the search options.
 *
 * @param sharers names of the networks or services that each need a tenant; `field` is the option that lists them
 * @throws InvalidInputError that names the field
 */
export function searchLimits(
  predictor: Predictor,
  options: SearchOptions,
  { field, sharers }: { readonly field: 'models' | 'services'; readonly sharers: readonly string[] },
  defaults: Required<Pick<SearchOptions, 'budgetEvaluations' | 'timeBudgetMs'>>,
): SearchLimits {
  if (typeof predictor?.spec !== 'object') {
    throw new InvalidInputError('predictor', predictor, 'a predictor, such as what loadPerfModel returns')
  }
  const askedCapW = number('powerCapW', options.powerCapW, 'a positive number of watts', (x) => x > 0 && x < Infinity)
  const maxW = predictor.spec.powerLimitW.max
  // The board's limit cannot be set higher. The board would lower its clock, so a plan with more power would not run as
  // predicted.
  const powerCapW = Math.min(askedCapW, maxW)
  const powerMarginW = number(
    'powerMarginW',
    options.powerMarginW ?? 0,
    'watts of at least 0 and below the cap',
    (x) => x >= 0 && x < powerCapW,
  )
  const sharePercentStep = integer('sharePercentStep', options.sharePercentStep ?? 5, 1, 100)
  const totalUnits = Math.floor(100 / sharePercentStep)
  const maxTenants = integer('maxTenants', options.maxTenants ?? MAX_MPS_CLIENTS, 1, MAX_MPS_CLIENTS)
  const most = Math.min(maxTenants, totalUnits)
  if (sharers.length > most) {
    const what = field === 'models' ? 'networks' : field
    const expected = `at most ${most} ${what}, so that each can have a tenant (maxTenants, sharePercentStep)`
    throw new InvalidInputError(field, sharers, expected)
  }
  const { now = options.timeBudgetMs === undefined ? () => 0 : undefined } = options
  if (typeof now !== 'function') {
    throw new InvalidInputError('now', now, 'a function that returns milliseconds, if timeBudgetMs is given')
  }
  const timeBudgetMs = options.timeBudgetMs ?? defaults.timeBudgetMs
  return {
    powerCapW,
    powerMarginW,
    boardLimitW: askedCapW > maxW ? maxW : undefined,
    powerLimitW: powerCapW - powerMarginW,
    sharePercentStep,
    totalUnits,
    memClocksMhz: memClocks(predictor, options.memClocksMhz),
    maxTenants,
    memoryBytes: memoryForTenants(predictor, options.memoryBytes),
    now,
    seed: integer('seed', options.seed ?? 1, 0, 2 ** 32 - 1),
    improve: oneOf('improve', options.improve ?? true, [true, false]),
    budgetEvaluations: integer(
      'budgetEvaluations',
      options.budgetEvaluations ?? defaults.budgetEvaluations,
      1,
      Number.MAX_SAFE_INTEGER,
    ),
    deadlineMs:
      number('now()', now(), 'milliseconds', Number.isFinite) +
      number('timeBudgetMs', timeBudgetMs, 'milliseconds above 0', (x) => x > 0),
  }
}

/**
 * Device memory available to tenants, bytes: the given limit, at most the board's memory minus its reserved memory.
 */
function memoryForTenants({ spec, reservedMemoryBytes = 0 }: Predictor, given: number = spec.memoryBytes): number {
  const expected = `bytes above 0 and at most ${spec.memoryBytes}, the memory of ${spec.key}`
  const most = number('memoryBytes', given, expected, (x) => x > 0 && x <= spec.memoryBytes)
  return Math.min(most, spec.memoryBytes - reservedMemoryBytes)
}

/** Memory clocks to search, descending. */
function memClocks(predictor: Predictor, given: readonly number[] | undefined): readonly number[] {
  const known = predictor.memClocksMhz
  const wanted = given ?? known
  const clocks = Array.isArray(wanted) ? [...new Set<number>(wanted)].sort((a, b) => b - a) : []
  if (clocks.length === 0 || clocks.some((clock) => !known.includes(clock))) {
    throw new InvalidInputError(
      'memClocksMhz',
      given,
      `memory clocks that the predictor knows (${known.join(', ')} MHz)`,
    )
  }
  return clocks
}

/**
 * Check one number.
 *
 * @throws InvalidInputError if the value fails its check
 */
export function number(field: string, value: number, expected: string, holds: (value: number) => boolean): number {
  if (typeof value !== 'number' || !holds(value)) throw new InvalidInputError(field, value, expected)
  return value
}

export function oneOf<Choice extends string | boolean>(
  field: string,
  value: Choice,
  choices: readonly Choice[],
): Choice {
  if (choices.includes(value)) return value
  throw new InvalidInputError(field, value, choices.map((choice) => `'${choice}'`).join(' or '))
}

export function integer(field: string, value: number, least: number, most: number): number {
  return number(
    field,
    value,
    `an integer from ${least} to ${most}`,
    (x) => Number.isInteger(x) && x >= least && x <= most,
  )
}
