import type { PartitionOptions } from '@pctodl/greedy-partition'
import type { AskedPlan } from './asked-plan.js'

/** A network that shares the board, and the value of one of its samples in the objective. */
export interface Demand {
  readonly model: string
  readonly weight: number
}

/** All inputs of the Plan room. */
export interface PlanQuestion extends AskedPlan {
  readonly networks: readonly Demand[]
  /** Maximum latency of a batch, ms; null for no limit. */
  readonly latencySloMs: number | null
  /** Which batch latency must be within the objective: the mean or the p99. */
  readonly latencyPercentile: 'mean' | 'p99'
  /**
   * Highest accepted probability that true power exceeds the cap; `mean` requires only that mean power is within the
   * cap.
   */
  readonly risk: number | 'mean'
}

/**
 * Number of configurations that a search evaluates. It is a count, not a time limit, so that a link shows the same plan
 * on every machine. A search takes about 40 ms on a typical machine.
 */
export const SEARCH_EVALUATIONS = 1500

/** Default probability that a plan's power exceeds the cap. */
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

/** Converts a question to the options of `partition`, which also define the command. */
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
