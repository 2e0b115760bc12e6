import type { ServiceGoal, ServicePlanOptions } from '@pctodl/greedy-partition/services'
import type { AskedPlan } from '../plan/asked-plan.js'
import { type AskedService, firstServices } from '../services/asked-service.js'

export const goals: readonly ServiceGoal[] = ['min-power', 'max-load', 'max-value']

/** All inputs of a plan for services. */
export interface ServicesQuestion extends AskedPlan {
  readonly services: readonly AskedService[]
  readonly objective: ServiceGoal
  /** The plan must serve the request rates multiplied by this factor. */
  readonly rateMargin: number
  /** Fraction of each latency objective that the plan leaves unused as a margin. */
  readonly latencyMargin: number
  /** Index of dispersion of the arrivals: the variance of the number of arrivals divided by its mean. */
  readonly burstiness: number
}

export const firstServicesQuestion: ServicesQuestion = {
  board: '3080Ti',
  services: firstServices,
  powerCapW: 250,
  objective: 'min-power',
  powerMarginW: 0,
  rateMargin: 1.1,
  latencyMargin: 0.1,
  burstiness: 1,
  sharePercentStep: 5,
  maxTenants: null,
  memClockMhz: null,
}

/**
 * Number of layouts that a search evaluates. It is a count, not a time limit, so that a link shows the same plan on
 * every machine. A layout takes longer if services must be shed.
 */
export const layoutBudgets: Readonly<Record<ServiceGoal, number>> = {
  'min-power': 300,
  'max-load': 300,
  'max-value': 40,
}

/** Converts a question to the options of `planServices`, which also define the command. */
export function servicesOptions(question: ServicesQuestion): ServicePlanOptions {
  const { objective, powerCapW, powerMarginW, rateMargin, latencyMargin, burstiness, sharePercentStep } = question
  const { maxTenants, memClockMhz } = question
  return {
    objective,
    powerCapW,
    powerMarginW,
    rateMargin,
    latencyMargin,
    burstiness,
    sharePercentStep,
    bound: true,
    budgetEvaluations: layoutBudgets[objective],
    ...(memClockMhz === null ? {} : { memClocksMhz: [memClockMhz] }),
    ...(maxTenants === null ? {} : { maxTenants }),
  }
}
