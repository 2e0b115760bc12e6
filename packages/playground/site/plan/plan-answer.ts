import { type InfeasiblePartition, partition } from '@pctodl/greedy-partition'
import { describeOutside, type PerfModel, type Prediction } from '@pctodl/perf-model'
import { type Configuration, smsOfShare } from '@pctodl/platform'
import { type Alternative, alternativesTo } from './alternatives.js'
import { type PlanQuestion, searchOptions } from './plan-question.js'

/** Quantiles that bound a 95 % interval. */
const INTERVAL = [0.025, 0.975] as const

export type Interval = readonly [low: number, high: number]

/** A plan, with the figures shown beside it. */
export interface FoundPlan {
  readonly feasible: true
  readonly configuration: Configuration
  readonly prediction: Prediction
  /** 95 % interval of the throughput, samples/s. */
  readonly throughputInterval: Interval
  /** 95 % interval of the power, W. */
  readonly powerIntervalW: Interval
  readonly marginW: number
  /** Probability that true power exceeds the cap. */
  readonly capExceedanceProbability: number | null
  /** The board's highest power limit, W, if this limit is below the cap. */
  readonly boardLimitW: number | null
  /** Which quantities of the plan are outside the range in which the board was measured, in words. */
  readonly outside: readonly string[]
  /** Number of SMs that each tenant may use. */
  readonly sms: readonly number[]
  readonly alternatives: readonly Alternative[]
  readonly evaluations: number
  readonly elapsedMs: number
}

export type PlanAnswer = FoundPlan | InfeasiblePartition

/**
 * Searches a plan and evaluates its alternatives.
 *
 * @throws InvalidInputError, UnknownNameError for an invalid question
 */
export function answerPlan(model: PerfModel, question: PlanQuestion): PlanAnswer {
  const startMs = performance.now()
  const result = partition(model, searchOptions(question))
  const elapsedMs = performance.now() - startMs
  if (!result.feasible) return result
  const { configuration, prediction, marginW, evaluations } = result
  return {
    feasible: true,
    configuration,
    prediction,
    ...intervalsOf(model, configuration),
    marginW,
    capExceedanceProbability: result.capExceedanceProbability ?? null,
    boardLimitW: result.boardLimitW ?? null,
    outside: (result.domain?.outside ?? []).map(describeOutside),
    sms: configuration.tenants.map(({ mpsPercent }) => smsOfShare(model.spec, mpsPercent)),
    alternatives: alternativesTo(model, question),
    evaluations,
    elapsedMs,
  }
}

/** Returns the predictor's 95 % intervals of a configuration. */
export function intervalsOf(
  model: PerfModel,
  configuration: Configuration,
): { readonly throughputInterval: Interval; readonly powerIntervalW: Interval } {
  const { throughput, powerW } = model.quantiles(configuration, INTERVAL)
  return {
    throughputInterval: [throughput[0]!, throughput[1]!],
    powerIntervalW: [powerW[0]!, powerW[1]!],
  }
}
