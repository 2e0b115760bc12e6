import type { Configuration } from '@pctodl/platform'
import { knownSearchOptions, type SearchOptions } from '../search-options.js'

/**
 * - `min-power`: meet all objectives at the rates with minimum power
 * - `max-load`: the largest common factor on all rates at which all objectives and the cap hold
 * - `max-value`: the most weighted requests/s answered within their objectives, by the choice of admitted rates
 */
export type ServiceGoal = 'min-power' | 'max-load' | 'max-value'

export interface ServicePlanOptions extends SearchOptions {
  readonly objective: ServiceGoal
  /** Factor on the rates, at least 1: a margin for changing rates and prediction errors. Default 1.1. */
  readonly rateMargin?: number
  /**
   * For `min-power`: factors from 0 to 1 on the rates, e.g. `[0.1, 0.5, 1]`. Each factor applies for an equal part of
   * the time, at its lowest clock. The plan minimises the mean power. Default: only the rates themselves.
   */
  readonly loads?: readonly number[]
  /** Fraction by which each p99 objective is shortened for planning, 0 to 0.9. Default 0.1. */
  readonly latencyMargin?: number
  /**
   * Variance-to-mean ratio of the number of requests in an interval: 1 for independent users. One number, or one per
   * service. Default 1.
   */
  readonly burstiness?: number | readonly number[]
  /** Maximum number of processes per service. Default 4. */
  readonly maxInstances?: number
  /**
   * Batch sizes to choose from, at most 256. Default: 1, 2, 4, ... 256, and each service's largest batch size if it is
   * at most 256.
   */
  readonly batchSizes?: readonly number[]
  /** SM clocks to choose from, MHz. Default: all SM clocks of the board. */
  readonly smClocksMhz?: readonly number[]
  /** A further starting configuration, such as the current one. It is ignored if it does not fit the options. */
  readonly startFrom?: Configuration
  /** Whether to compute a bound on all plans. This takes as long as a few hundred evaluations. Default false. */
  readonly bound?: boolean
}

/** All option names, to detect misspelt ones. */
export const knownPlanOptions: readonly (keyof ServicePlanOptions)[] = [
  ...knownSearchOptions,
  'objective',
  'rateMargin',
  'loads',
  'latencyMargin',
  'burstiness',
  'maxInstances',
  'batchSizes',
  'smClocksMhz',
  'startFrom',
  'bound',
]
