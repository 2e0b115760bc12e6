/** One of the networks that share the board. */
export interface NetworkDemand {
  readonly model: string
  /** Worth of one sample of this network, 1e-100..1e100, 1 unless given. `1 / throughput alone` makes the objective a sum of speedups. */
  readonly weight?: number
  /** For tenants of this network, in the place of `latencySloMs` of the options. */
  readonly latencySloMs?: number
  /** For tenants of this network, in the place of `minTenantThroughput` of the options. */
  readonly minTenantThroughput?: number
}

export type PartitionObjective = 'throughput' | 'few-processes'

export interface PartitionOptions {
  /** The network to serve, or several; each of several gets at least one tenant. */
  readonly models: string | readonly NetworkDemand[]
  /**
   * `throughput`: the most samples/s. `few-processes`: among plans within 1 % of it the fewest processes, then the lowest p99 latency; the
   * result shows the trade. Default `throughput`.
   */
  readonly objective?: PartitionObjective
  /** W. Above the highest limit that the board takes, that limit holds, and the result says so. */
  readonly powerCapW: number
  /** Watts to stay below the cap. Default 0. */
  readonly powerMarginW?: number
  /**
   * Chance constraint: most probability that the true power of the plan is above the cap less the margin, 1e-9..0.5, from the
   * posterior that the predictor gives for its power, and corrected for the choice among many. Default: mean power is what stays
   * below.
   */
  readonly capExceedanceProbability?: number
  /** Shares are multiples of this, percent; an integer 1..100. Default 5. */
  readonly sharePercentStep?: number
  /** Memory clocks to choose from, MHz. Default: all that the predictor knows. */
  readonly memClocksMhz?: readonly number[]
  /** Most tenants. Default 48, the MPS client limit. */
  readonly maxTenants?: number
  /** Largest share of one tenant, percent. Default 100. */
  readonly maxSharePercent?: number
  /** Batch sizes to choose from. Default 4, 8, 16, 32, 64, 96, 128, 192, 256. */
  readonly batchSizes?: readonly number[]
  /** Largest batch size of one tenant. Default: the largest of `batchSizes`. */
  readonly maxBatchSize?: number
  /** Smallest batch size of a tenant, in samples per percent of its share; the published search takes 0.8. Default 0. */
  readonly minBatchPerPercent?: number
  /** Most batch latency that any tenant may have, ms. Default: no bound. */
  readonly latencySloMs?: number
  /** Which latency the SLO bounds: the mean, or the 99th percentile where the predictor gives one. Default `mean`. */
  readonly latencyPercentile?: 'mean' | 'p99'
  /** Least throughput of every tenant, samples/s. Default 0. */
  readonly minTenantThroughput?: number
  /** Device memory for all tenants together, bytes, at most the board's. Default: the board's, less what is in use without tenants. */
  readonly memoryBytes?: number
  /**
   * How far from what the predictor was fitted to a plan may lie, in `Prediction.distance`; Infinity for anywhere. Default 2.
   */
  readonly maxDistance?: number
  /** Most configurations to evaluate (a clock solve and a prediction each). Default 4000. */
  readonly budgetEvaluations?: number
  /**
   * Most time, ms on `now`: the greedy stage is always finished, what follows ends then. Results depend on the speed of the
   * machine. Default 50 with `now`, no limit without.
   */
  readonly timeBudgetMs?: number
  /** Monotonic milliseconds, such as `performance.now`; needed for a time limit, and sets one. */
  readonly now?: () => number
  /** Seed of the order in which improving moves are tried. Default 1. */
  readonly seed?: number
  /** `false` ends after the greedy stage, for comparisons. Default true. */
  readonly improve?: boolean
}

/** Every option there is, to tell a misspelt one. */
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
