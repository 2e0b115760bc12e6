/** One of the networks that share the board. */
export interface NetworkDemand {
  readonly model: string
  /** Value of one sample, 1e-100..1e100, default 1. With `1 / throughput alone` the objective is a sum of speedups. */
  readonly weight?: number
  /** Overrides the options' `latencySloMs` for this network. */
  readonly latencySloMs?: number
  /** Overrides the options' `minTenantThroughput` for this network. */
  readonly minTenantThroughput?: number
}

export type PartitionObjective = 'throughput' | 'few-processes'

export interface PartitionOptions {
  /** Network or networks to serve; each gets at least one tenant. */
  readonly models: string | readonly NetworkDemand[]
  /**
   * `throughput`: maximum samples/s. `few-processes`: among plans within 1 % of that, the fewest processes, then the
   * lowest p99 latency; the result lists the trade-off. Default `throughput`.
   */
  readonly objective?: PartitionObjective
  /** Power cap, W. A cap above the board's highest limit is reduced to that limit, and the result reports it. */
  readonly powerCapW: number
  /** Distance to stay below the cap, W. Default 0. */
  readonly powerMarginW?: number
  /**
   * Chance constraint: maximum probability that the true power of the plan exceeds the cap less the margin, 1e-9..0.5,
   * according to the predictor's posterior and corrected for the selection among many plans. Default: only the mean
   * power is limited.
   */
  readonly capExceedanceProbability?: number
  /** Step of the shares, percent; an integer 1..100. Default 5. */
  readonly sharePercentStep?: number
  /** Memory clocks to choose from, MHz. Default: all that the predictor knows. */
  readonly memClocksMhz?: readonly number[]
  /** Maximum number of tenants. Default 48, the MPS client limit. */
  readonly maxTenants?: number
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
  /** Device memory for all tenants, bytes, at most the board's. Default: the board's minus its reserved memory. */
  readonly memoryBytes?: number
  /** Maximum `Prediction.distance` of a plan; Infinity for no limit. Default 2. */
  readonly maxDistance?: number
  /** Maximum number of configurations to evaluate (a clock solution and a prediction each). Default 4000. */
  readonly budgetEvaluations?: number
  /**
   * Time limit, ms on `now`. The greedy stage always completes; the later stages end then. Results depend on the speed
   * of the machine. Default 50 with `now`, no limit without.
   */
  readonly timeBudgetMs?: number
  /**
   * Monotonic clock in milliseconds, such as `performance.now`. Required for a time limit; setting it enables the
   * default limit.
   */
  readonly now?: () => number
  /** Seed of the order in which improving moves are tried. Default 1. */
  readonly seed?: number
  /** `false` stops after the greedy stage, for comparisons. Default true. */
  readonly improve?: boolean
}

/** All option names, to detect misspelt ones. */
export const knownOptions = [
  'models',
  'objective',
  'powerCapW',
  'powerMarginW',
  'capExceedanceProbability',
  'sharePercentStep',
  'memClocksMhz',
  'maxTenants',
  'maxSharePercent',
  'batchSizes',
  'maxBatchSize',
  'minBatchPerPercent',
  'latencySloMs',
  'latencyPercentile',
  'minTenantThroughput',
  'memoryBytes',
  'maxDistance',
  'budgetEvaluations',
  'timeBudgetMs',
  'now',
  'seed',
  'improve',
] as const
