import type { PartitionOptions } from '@pctodl/greedy-partition'

/** A network that is to be served, and what one sample of it is worth. */
export interface Demand {
  readonly model: string
  /** 1 unless somebody says otherwise. */
  readonly weight: number
}

/** Everything that the Plan room asks for: its whole state. */
export interface PlanQuestion {
  /** Key of a board, or name of a parameter file that was opened. */
  readonly board: string
  readonly networks: readonly Demand[]
  readonly powerCapW: number
  /** Watts to stay below the cap. */
  readonly powerMarginW: number
  readonly sharePercentStep: number
  /** Most latency of a batch, ms; null for any. */
  readonly latencySloMs: number | null
  /** Which latency the objective bounds. */
  readonly latencyPercentile: 'mean' | 'p99'
  /** Most probability that true power is above the cap; null where mean power is what stays below. */
  readonly risk: number | null
  /** Most tenants; null for what MPS takes. */
  readonly maxTenants: number | null
  /** MHz; null for the best one. */
  readonly memClockMhz: number | null
}

/**
 * Configurations that a search looks at. Counted and not timed, so that a link shows the same plan on every machine; some 40 ms
 * of a search on a usual one.
 */
export const SEARCH_EVALUATIONS = 1500

export const firstPlan: PlanQuestion = {
  board: '3080Ti',
  networks: [{ model: 'resnet50', weight: 1 }],
  powerCapW: 200,
  powerMarginW: 0,
  sharePercentStep: 5,
  latencySloMs: null,
  latencyPercentile: 'mean',
  risk: null,
  maxTenants: null,
  memClockMhz: null,
}

/** The options of the search, as `partition` takes them and as the command line makes them. */
export function searchOptions(question: PlanQuestion): PartitionOptions {
  const { networks, powerCapW, powerMarginW, sharePercentStep, latencySloMs, latencyPercentile } = question
  const { risk, maxTenants, memClockMhz } = question
  return {
    models: networks,
    powerCapW,
    powerMarginW,
    sharePercentStep,
    latencyPercentile,
    budgetEvaluations: SEARCH_EVALUATIONS,
    ...(memClockMhz === null ? {} : { memClocksMhz: [memClockMhz] }),
    ...(risk === null ? {} : { capExceedanceProbability: risk }),
    ...(latencySloMs === null ? {} : { latencySloMs }),
    ...(maxTenants === null ? {} : { maxTenants }),
  }
}
