import {
  type FeasibleServicePlan,
  type InfeasibleServicePlan,
  type PlainManner,
  plainPlan,
  planServices,
} from '@pctodl/greedy-partition/services'
import type { PerfModel } from '@pctodl/perf-model'
import { type Configuration, smsOfShare } from '@pctodl/platform'
import type { Interval } from '../plan/plan-answer.js'
import { serviceOf } from '../services/asked-service.js'
import { type ServicesQuestion, servicesOptions } from './services-question.js'

/** A plan for services, with the figures shown beside it. */
export interface FoundServicesPlan extends FeasibleServicePlan {
  /**
   * 95 % interval of power, W. It is the predictor's interval for processes that always have work, scaled to the power
   * at the request rates.
   */
  readonly powerIntervalW: Interval
  /** Energy of the board per answered request, J; null if there are no requests. */
  readonly energyPerRequestJ: number | null
  /** Number of SMs that each tenant may use. */
  readonly sms: readonly number[]
  readonly elapsedMs: number
}

export type ServicesAnswer = FoundServicesPlan | InfeasibleServicePlan

/** A simple configuration to compare with the plan; null if it cannot meet the objectives and the cap. */
export interface PlainAnswer {
  readonly manner: PlainManner
  readonly found: Pick<FoundServicesPlan, 'configuration' | 'prediction' | 'score' | 'energyPerRequestJ'> | null
}

const manners: readonly PlainManner[] = ['equal-shares', 'one-batch', 'shares-by-load']

/**
 * Searches a plan for the services of a question.
 *
 * @throws InvalidInputError, UnknownNameError for an invalid question
 */
export function answerServices(model: PerfModel, question: ServicesQuestion): ServicesAnswer {
  const startMs = performance.now()
  const plan = planServices(model, ...asked(question), servicesOptions(question))
  const elapsedMs = performance.now() - startMs
  if (!plan.feasible) return plan
  return {
    ...plan,
    powerIntervalW: powerInterval(model, plan.configuration, plan.prediction.powerW),
    energyPerRequestJ: energyOf(plan),
    sms: plan.configuration.tenants.map(({ mpsPercent }) => smsOfShare(model.spec, mpsPercent)),
    elapsedMs,
  }
}

/** Evaluates the configurations that a user would choose without a search, for the same question. */
export function plainServices(model: PerfModel, question: ServicesQuestion): PlainAnswer[] {
  const { bound: _, ...options } = servicesOptions(question)
  return manners.map((manner) => {
    const plan = plainPlan(model, ...asked(question), options, manner)
    if (!plan.feasible) return { manner, found: null }
    const { configuration, prediction, score } = plan
    return { manner, found: { configuration, prediction, score, energyPerRequestJ: energyOf(plan) } }
  })
}

function asked({ services }: ServicesQuestion) {
  return [services.map(serviceOf), services.map(({ ratePerS }) => ratePerS)] as const
}

function powerInterval(model: PerfModel, configuration: Configuration, powerW: number): Interval {
  const { powerW: busy } = model.quantiles(configuration, [0.025, 0.975])
  const mean = model.predict(configuration).powerW
  return [(busy[0]! / mean) * powerW, (busy[1]! / mean) * powerW]
}

function energyOf({ prediction: { powerW, services } }: FeasibleServicePlan): number | null {
  const answeredPerS = services.reduce((sum, service) => sum + service.answeredPerS, 0)
  return answeredPerS > 1e-3 ? powerW / answeredPerS : null
}
