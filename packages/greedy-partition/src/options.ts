import { knownSearchOptions, type SearchOptions } from './search-options.js'

/** One of the networks that share the board. */
export interface NetworkDemand {
  readonly model: string
  /**
   * Value of one sample, 1e-100..1e100, default 1. With the weight `1 / throughput alone`, the objective is a sum of
   * speedups.
   */
  readonly weight?: number
  /** Overrides the options' `latencySloMs` for this network. */
  readonly latencySloMs?: number
  /** Overrides the options' `minTenantThroughput` for this network. */
  readonly minTenantThroughput?: number
}

export type PartitionObjective = 'throughput' | 'few-processes'

export interface PartitionOptions extends SearchOptions {
  /** Network or networks to serve; each gets at least one tenant. */
  readonly models: string | readonly NetworkDemand[]
  /**
   * `throughput`: maximum samples/s. `few-processes`: among plans within 1 % of the maximum throughput, the one with
   * the fewest processes, then the lowest p99 latency; the result lists the trade-off. Default `throughput`.
   */
  readonly objective?: PartitionObjective
  /**
   * Chance constraint: maximum probability that the true power of the plan exceeds the cap minus the margin, 1e-9..0.5.
   * It follows from the predictor's posterior and is corrected for the selection among many plans. Default: only the
   * mean power is limited.
   */
  readonly capExceedanceProbability?: number
  /** Largest share of one tenant, percent. Default 100. */
  readonly maxSharePercent?: number
  /** Batch sizes to choose from. Default 4, 8, 16, 32, 64, 96, 128, 192, 256. */
  readonly batchSizes?: readonly number[]
  /** Largest batch size of one tenant. Default: the largest of `batchSizes`. */
  readonly maxBatchSize?: number
  /** Minimum batch size of a tenant, in samples per percent of its share; the published search uses 0.8. Default 0. */
  readonly minBatchPerPercent?: number
  /** Maximum batch latency of any tenant, ms. Default: no bound. */
  readonly latencySloMs?: number
  /** Latency that the SLO bounds: the mean, or the 99th percentile if the predictor has one. Default `mean`. */
  readonly latencyPercentile?: 'mean' | 'p99'
  /** Minimum throughput of every tenant, samples/s. Default 0. */
  readonly minTenantThroughput?: number
  /** Maximum `Prediction.distance` of a plan; Infinity for no limit. Default 2. */
  readonly maxDistance?: number
  /**
   * Time limit, measured with `now`, ms. The greedy stage always completes; the later stages end at the limit. Default
   * 50 with `now`, no limit without.
   */
  readonly timeBudgetMs?: number
}

/** All option names, to detect misspelt ones. */
export const knownOptions: readonly (keyof PartitionOptions)[] = [
  ...knownSearchOptions,
  'models',
  'objective',
  'capExceedanceProbability',
  'maxSharePercent',
  'batchSizes',
  'maxBatchSize',
  'minBatchPerPercent',
  'latencySloMs',
  'latencyPercentile',
  'minTenantThroughput',
  'maxDistance',
]
