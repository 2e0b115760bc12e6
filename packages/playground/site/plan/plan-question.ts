import type { PartitionOptions } from '@pctodl/greedy-partition'
import type { AskedPlan } from './asked-plan.js'

/** A network that shares the board, and the weight of one of its samples. */
export interface Demand {
  readonly model: string
  readonly weight: number
}

/** All parameters of the Plan room: its whole state. */
export interface PlanQuestion extends AskedPlan {
  readonly networks: readonly Demand[]
  /** Maximum latency of a batch, ms; null for any. */
  readonly latencySloMs: number | null
  /** Which latency the objective bounds. */
  readonly latencyPercentile: 'mean' | 'p99'
  /** Highest probability that true power exceeds the cap; `mean` to keep only the mean power below it. */
  readonly risk: number | 'mean'
}

/**
 * Number of configurations that a search evaluates. Counted and not timed, so that a link shows the same plan on every
 * machine; about 40 ms of search on a typical one.
 */
export const SEARCH_EVALUATIONS = 1500

/** The default risk of a plan. */
export const RISK = 0.05

export const firstPlan: PlanQuestion = {
  board: '3080Ti',
  networks: [{ model: 'resnet50', weight: 1 }],
  powerCapW: 200,
  powerMarginW: 0,
  sharePercentStep: 5,
  latencySloMs: null,
  latencyPercentile: 'mean',
  risk: RISK,
  maxTenants: null,
  memClockMhz: null,
}

/** The options of the search, for `partition` and for the command line. */
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
    ...(risk === 'mean' ? {} : { capExceedanceProbability: risk }),
    ...(latencySloMs === null ? {} : { latencySloMs }),
    ...(maxTenants === null ? {} : { maxTenants }),
  }
}
