import type { ServingPrediction } from '@pctodl/perf-model/serving'
import type { Configuration } from '@pctodl/platform'
import type { StoppedBecause } from '../result.js'

/** What limits the plan. */
export type PlanBinds =
  | { readonly what: 'power-cap' }
  /** The p99 objective of a service. */
  | { readonly what: 'objective'; readonly service: string }
  /** The board runs at its lowest allowed clock: only other shares or batches can save power. */
  | { readonly what: 'lowest-clock' }
  /** All requests are admitted: no plan is better. */
  | { readonly what: 'nothing' }

/** Bound on how much better any plan can be. */
export interface PlanBound {
  /** Model bound on the `score` of any plan: a minimum for `min-power`, else a maximum. */
  readonly value: number
  /** Relative difference between the plan and the bound, >= 0. */
  readonly gap: number
}

export interface FeasibleServicePlan {
  readonly feasible: true
  /** Every tenant names its service. */
  readonly configuration: Configuration
  /** Copied from the services, in their order. */
  readonly maxQueueDelayMs: readonly number[]
  /** Prediction at the admitted rates (`max-load`: at the rates times `loadFactor`), without the margins. */
  readonly prediction: ServingPrediction
  /**
   * Common factor on all rates at which the objectives and the cap hold, including the margins. Below 1 only for
   * `max-load` and `max-value`.
   */
  readonly loadFactor: number
  /**
   * Admitted requests/s, in the order of the services: all of them, except for `max-load` with a factor below 1 and for
   * `max-value`.
   */
  readonly admittedPerS: readonly number[]
  /** Cap (or the board's limit if lower) minus predicted power, W. */
  readonly marginW: number
  /**
   * Optimised value: power at the rates with their margin, W (`min-power`), the factor (`max-load`), or the admitted
   * weighted requests/s (`max-value`).
   */
  readonly score: number
  readonly binds: PlanBinds
  /** Only with the option `bound`. */
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
  /** The service at fault, if it is a single one. */
  readonly service?: string
  /** Lowest achievable p99 of this service, ms (`latency-objective`). */
  readonly bestP99Ms?: number
  /** Highest rate at which this service meets its objective, requests/s, margins included (`rate`). */
  readonly bestRatePerS?: number
  /** What was needed, what is available and what to do. */
  readonly message: string
  /** The lowest cap for which a plan was found, including the margin, W; null if no cap helps. */
  readonly lowestFeasibleCapW: number | null
  readonly boardLimitW?: number
  readonly evaluations: number
}

export type ServicePlan = FeasibleServicePlan | InfeasibleServicePlan
