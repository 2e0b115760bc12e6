import type { ServingPrediction } from '@pctodl/perf-model/serving'
import type { Configuration } from '@pctodl/platform'
import type { StoppedBecause } from '../result.js'

/** What limits the plan. */
export type PlanBinds =
  | { readonly what: 'power-cap' }
  /** The p99 objective of a service. */
  | { readonly what: 'objective'; readonly service: string }
  /** The board runs at its lowest allowed clock. Only other shares or batches can save power. */
  | { readonly what: 'lowest-clock' }
  /** All requests are admitted: no plan is better. */
  | { readonly what: 'nothing' }

/** Bound on how much better another plan can be. */
export interface PlanBound {
  /** Bound that the model gives for the `score` of any plan: a minimum for `min-power`, otherwise a maximum. */
  readonly value: number
  /** Relative difference between the plan and the bound, >= 0. */
  readonly gap: number
}

export interface FeasibleServicePlan {
  readonly feasible: true
  /** Every tenant names its service. */
  readonly configuration: Configuration
  /** Queue delay of each service, copied from the services in their order, ms. */
  readonly maxQueueDelayMs: readonly number[]
  /** Prediction at the admitted rates, without the margins; for `max-load`, at the rates times `loadFactor`. */
  readonly prediction: ServingPrediction
  /**
   * Common factor on all rates at which the objectives and the cap hold, including the margins. It is below 1 only for
   * `max-load` and `max-value`.
   */
  readonly loadFactor: number
  /**
   * Admitted requests/s, in the order of the services. All requests are admitted, except for `max-load` with a factor
   * below 1 and for `max-value`.
   */
  readonly admittedPerS: readonly number[]
  /** Cap (or the board's limit if lower) minus predicted power, W. */
  readonly marginW: number
  /**
   * Optimised value. For `min-power`, the power at the rates with their margin, W; for `max-load`, the factor; for
   * `max-value`, the admitted weighted requests/s.
   */
  readonly score: number
  readonly binds: PlanBinds
  /** Bound on all plans; present only with the option `bound`. */
  readonly bound?: PlanBound
  /** The board's highest power limit, W; set if it replaced a higher requested cap. */
  readonly boardLimitW?: number
  /** Number of layouts evaluated. */
  readonly evaluations: number
  readonly stoppedBecause: StoppedBecause
}

export interface InfeasibleServicePlan {
  readonly feasible: false
  /**
   * - `memory`: not even the smallest tenants, one per service, fit into device memory
   * - `latency-objective`: a service misses its objective even alone on the whole board at the highest clock
   * - `rate`: a service's rate exceeds its capacity alone on the whole board
   * - `together`: each service can be met alone, but no plan for all was found
   * - `power-cap`: all could be met, but with more power
   */
  readonly reason: 'memory' | 'latency-objective' | 'rate' | 'together' | 'power-cap'
  /** The service at fault, if a single service is. */
  readonly service?: string
  /** Lowest achievable p99 of this service, ms (`latency-objective`). */
  readonly bestP99Ms?: number
  /** Highest rate at which this service meets its objective, requests/s, margins included (`rate`). */
  readonly bestRatePerS?: number
  /** Message for the user: the value needed, the value available, and the remedy. */
  readonly message: string
  /** The lowest cap for which a plan was found, including the margin, W; null if no cap helps. */
  readonly lowestFeasibleCapW: number | null
  readonly boardLimitW?: number
  readonly evaluations: number
}

export type ServicePlan = FeasibleServicePlan | InfeasibleServicePlan
