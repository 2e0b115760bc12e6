import type { Domain, Prediction } from '@pctodl/perf-model'
import type { Configuration } from '@pctodl/platform'

/** Why a search ended. `exhausted` means that an enumeration has evaluated everything. */
export type StoppedBecause = 'no-improving-move' | 'evaluation-budget' | 'time-budget' | 'greedy-only' | 'exhausted'

/** One step of the search. */
export interface PartitionStep {
  /** Description of the step, e.g. `add 20 % x 64` or `memory to 9501 MHz`. */
  readonly move: string
  /**
   * Stage of the search. A `shake` is a random move that need not help by itself. A `choice` gives up throughput for
   * fewer processes.
   */
  readonly stage: 'greedy' | 'equal-shares' | 'improve' | 'shake' | 'choice'
  readonly configuration: Configuration
  /** Samples/s. */
  readonly throughput: number
  readonly powerW: number
}

/** The highest throughput found with this number of processes. */
export interface TradeRow {
  readonly processes: number
  /** Largest p99 latency among the processes, ms; mean latency if the predictor has no percentiles. */
  readonly p99LatencyMs: number
  /** Samples/s, weighted if the networks have weights. */
  readonly throughput: number
  readonly powerW: number
}

export interface FeasiblePartition {
  readonly feasible: true
  readonly configuration: Configuration
  readonly prediction: Prediction
  /** Whether the plan lies within the predictor's fitted domain; absent if the predictor does not know its domain. */
  readonly domain?: Domain
  /** The board's highest power limit, W; set if it replaced a higher requested cap. */
  readonly boardLimitW?: number
  /** Objective value: sum of samples/s times weight over the networks. */
  readonly weightedThroughput: number
  /** Cap (or the board's limit if lower) minus predicted power, W; at least the requested margin. */
  readonly marginW: number
  /**
   * Probability that the true power of this configuration exceeds the cap, without correction for the selection among
   * plans. It follows from the predictor's posterior; absent if the predictor has none.
   */
  readonly capExceedanceProbability?: number
  /**
   * Best throughput for each number of processes, fewest first. Each row is at least 1 % better than the row before.
   * Only with the objective `few-processes`.
   */
  readonly trade?: readonly TradeRow[]
  /** Number of distinct configurations evaluated. */
  readonly evaluations: number
  readonly stoppedBecause: StoppedBecause
  /** Steps from the empty board to the configuration. */
  readonly steps: readonly PartitionStep[]
}

export interface InfeasiblePartition {
  readonly feasible: false
  /**
   * - `memory`: not even the smallest tenants fit into device memory
   * - `latency-slo`: no clock meets the SLO, whatever the cap
   * - `min-throughput`: no clock reaches a tenant's minimum throughput, whatever the cap
   * - `power-cap`: all other bounds can be met, but with more power
   * - `distance`: every configuration exceeds `maxDistance`
   */
  readonly reason: 'memory' | 'latency-slo' | 'min-throughput' | 'power-cap' | 'distance'
  /** Message for the user: the value needed, the value available, and the remedy. */
  readonly message: string
  /** The lowest cap for which a configuration exists, including the margin, W; null if no cap helps. */
  readonly lowestFeasibleCapW: number | null
  /** The board's highest power limit, W; set if it replaced a higher requested cap. */
  readonly boardLimitW?: number
  readonly evaluations: number
}

export type PartitionResult = FeasiblePartition | InfeasiblePartition
