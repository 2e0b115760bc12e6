import type { Configuration } from '@pctodl/platform'

/**
 * - `min-power`: all objectives met at the rates, with the fewest watts
 * - `max-load`: the largest common factor on all rates at which all objectives and the cap hold
 * - `max-value`: where not all requests can be answered in time, the admitted rate of each service that maximises the weighted requests/s in time
 */
export type ServiceGoal = 'min-power' | 'max-load' | 'max-value'

export interface ServicePlanOptions {
  readonly objective: ServiceGoal
  /** W. Above the highest limit that the board takes, that limit holds, and the result says so. */
  readonly powerCapW: number
  /** Watts to stay below the cap. Default 0. */
  readonly powerMarginW?: number
  /**
   * The plan holds for so many times the rates, at least 1: room for what the rates do meanwhile and for the prediction's error.
   * Default 1.1.
   */
  readonly rateMargin?: number
  /** Part of each p99 objective that is kept free, 0 to 0.9. Default 0.1. */
  readonly latencyMargin?: number
  /** Variance over mean of the requests in a time: 1 for independent users. One number, or one a service. Default 1. */
  readonly burstiness?: number | readonly number[]
  /** Shares are multiples of this, percent; an integer 1..100. Default 5. */
  readonly sharePercentStep?: number
  /** Most processes of one service. Default 4. */
  readonly maxInstances?: number
  /** Most processes. Default 48, the MPS client limit. */
  readonly maxTenants?: number
  /**
   * Batch sizes to choose from, beside each service's largest. Default 1, 2, 4, ... 256. A service whose largest batch is above 256 gets
   * none above 256.
   */
  readonly batchSizes?: readonly number[]
  /** SM clocks to choose from, MHz. Default: all of the board. */
  readonly smClocksMhz?: readonly number[]
  /** Memory clocks to choose from, MHz. Default: all that the model knows. */
  readonly memClocksMhz?: readonly number[]
  /** Device memory for all tenants together, bytes, at most the board's. Default: the board's, less what is in use without tenants. */
  readonly memoryBytes?: number
  /** A configuration to start from as well, such as the present one; what of it the options do not allow is left out. */
  readonly startFrom?: Configuration
  /** Most layouts (processes, shares and batches in one memory state) to look at. Default 2000. */
  readonly budgetEvaluations?: number
  /** Most time, ms on `now`. Results depend on the speed of the machine. Default: no limit. */
  readonly timeBudgetMs?: number
  /** Monotonic milliseconds, such as `performance.now`; needed for a time limit. */
  readonly now?: () => number
  /** Seed of the order in which moves are tried. Default 1. */
  readonly seed?: number
  /** `false` ends with the best of the starts, for comparisons. Default true. */
  readonly improve?: boolean
  /** Work out what no plan can be better than, too. Default false: it takes about as long as some hundred layouts. */
  readonly bound?: boolean
}

/** Every option there is, to tell a misspelt one. */
export const knownPlanOptions = [
  'objective',
  'powerCapW',
  'powerMarginW',
  'rateMargin',
  'latencyMargin',
  'burstiness',
  'sharePercentStep',
  'maxInstances',
  'maxTenants',
  'batchSizes',
  'smClocksMhz',
  'memClocksMhz',
  'memoryBytes',
  'startFrom',
  'budgetEvaluations',
  'timeBudgetMs',
  'now',
  'seed',
  'improve',
  'bound',
] as const
