import type { ServingPrediction } from '@pctodl/perf-model/serving'
import type { Configuration } from '@pctodl/platform'
import type { StoppedBecause } from '../result.js'

/** What keeps the plan from being better. */
export type PlanBinds =
  | { readonly what: 'power-cap' }
  /** The p99 objective of a service. */
  | { readonly what: 'objective'; readonly service: string }
  /** The board runs at the lowest of the clocks: only other shares or batches take less. */
  | { readonly what: 'lowest-clock' }
  /** All requests are let in: there is no more to win. */
  | { readonly what: 'nothing' }

/** How far from the plan anything better can lie. */
export interface PlanBound {
  /** Of any plan's `score`, by the model: at least (`min-power`) or at most. */
  readonly value: number
  /** By which part the plan is off the bound, 0 or more. */
  readonly gap: number
}

export interface FeasibleServicePlan {
  readonly feasible: true
  /** Every tenant names its service. */
  readonly configuration: Configuration
  /** In the order of the services: the service's own, as the plan does not change it. */
  readonly maxQueueDelayMs: readonly number[]
  /** At the admitted rates, without the margins. */
  readonly prediction: ServingPrediction
  /** Factor on all rates at which the objectives and the cap hold, the margins included: at least 1 but for `max-load` and `max-value`. */
  readonly loadFactor: number
  /** Requests/s to let in, in the order of the services: all, but for `max-load` with a factor below 1 and for `max-value`. */
  readonly admittedPerS: readonly number[]
  /** Cap (or the board's limit where that is lower) less predicted power, W. */
  readonly marginW: number
  /**
   * What was made as small or as large as possible: W at the rates with their margin (`min-power`), the factor (`max-load`), weighted
   * requests/s that are let in (`max-value`).
   */
  readonly score: number
  readonly binds: PlanBinds
  /** Where it was asked for. */
  readonly bound?: PlanBound
  /** The board's highest power limit, W, where the cap asked for is above it: it was held in the cap's place. */
  readonly boardLimitW?: number
  /** Layouts that were looked at. */
  readonly evaluations: number
  readonly stoppedBecause: StoppedBecause
}

export interface InfeasibleServicePlan {
  readonly feasible: false
  /**
   * - `memory`: not even the smallest tenants, one for each service, fit into device memory
   * - `latency-objective`: a service cannot be answered in time, not even alone on the whole board at the highest clock
   * - `rate`: a service is asked for more than it can do in time alone on the whole board
   * - `together`: each service could alone, but not all together
   * - `power-cap`: all could be met, but with more power
   */
  readonly reason: 'memory' | 'latency-objective' | 'rate' | 'together' | 'power-cap'
  /** Which of the services, where it is one. */
  readonly service?: string
  /** Lowest p99 that this service could have, ms (`latency-objective`). */
  readonly bestP99Ms?: number
  /** Most requests/s that this service could have in time, margins included (`rate`). */
  readonly bestRatePerS?: number
  /** What was needed, what there is and what to do. */
  readonly message: string
  /** The lowest cap for which a plan was found, margin included, W; null where no cap helps. */
  readonly lowestFeasibleCapW: number | null
  readonly boardLimitW?: number
  readonly evaluations: number
}

export type ServicePlan = FeasibleServicePlan | InfeasibleServicePlan
