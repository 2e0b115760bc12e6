import type { Domain, Prediction } from '@pctodl/perf-model'
import type { Configuration } from '@pctodl/platform'

/** Why a search ended. `exhausted`: an enumeration has seen everything. */
export type StoppedBecause = 'no-improving-move' | 'evaluation-budget' | 'time-budget' | 'greedy-only' | 'exhausted'

/** One stage of the way to the result. */
export interface PartitionStep {
  /** What was done, e.g. `add 20 % x 64` or `9501 MHz memory`. */
  readonly move: string
  /** A `shake` is a random move that need not help by itself. */
  readonly stage: 'greedy' | 'equal-shares' | 'improve' | 'shake'
  readonly configuration: Configuration
  /** Samples/s. */
  readonly throughput: number
  readonly powerW: number
}

export interface FeasiblePartition {
  readonly feasible: true
  readonly configuration: Configuration
  readonly prediction: Prediction
  /** Whether the plan lies within what the predictor was fitted to; absent where the predictor does not know. */
  readonly domain?: Domain
  /** The board's highest power limit, W, where the cap asked for is above it: it was held in the cap's place. */
  readonly boardLimitW?: number
  /** What was maximised: samples/s, each network's times its weight. */
  readonly weightedThroughput: number
  /** Cap (or the board's limit where that is lower) less predicted power, W: at least the margin asked for. */
  readonly marginW: number
  /** P[true power > cap] of this configuration by itself, from the predictor's posterior; absent where it gives none. */
  readonly capExceedanceProbability?: number
  /** Distinct configurations that were evaluated. */
  readonly evaluations: number
  readonly stoppedBecause: StoppedBecause
  /** The way from the empty board to the configuration. */
  readonly steps: readonly PartitionStep[]
}

export interface InfeasiblePartition {
  readonly feasible: false
  /**
   * - `memory`: not even the smallest tenants fit into device memory
   * - `latency-slo`: the SLO cannot be kept at any clock, whatever the cap
   * - `min-throughput`: a tenant's least throughput cannot be reached at any clock, whatever the cap
   * - `power-cap`: everything else can be kept, but needs more power
   * - `distance`: all that could run lies further from what the predictor was fitted to than `mostDistance` allows
   */
  readonly reason: 'memory' | 'latency-slo' | 'min-throughput' | 'power-cap' | 'distance'
  /** What was needed, what there is and what to do. */
  readonly message: string
  /** The lowest cap for which a configuration exists (margin included), W; null where no cap helps. */
  readonly lowestFeasibleCapW: number | null
  /** The board's highest power limit, W, where the cap asked for is above it: it was held in the cap's place. */
  readonly boardLimitW?: number
  readonly evaluations: number
}

export type PartitionResult = FeasiblePartition | InfeasiblePartition
