import { planServices, type ServicePlanOptions } from '@pctodl/greedy-partition/services'
import type { PerfModel } from '@pctodl/perf-model'
import type { ServicesPlanner } from './services-planner.js'

/**
 * The policy's default planner: `planServices` of `@pctodl/greedy-partition` with the measured rates and no margin on them, because
 * the load factor that it returns is the headroom.
 *
 * @param options of the search, e.g. its budget. Default: 600 evaluations
 */
export function planWithModel(
  model: PerfModel,
  options: Omit<ServicePlanOptions, 'objective' | 'powerCapW'> = {},
): ServicesPlanner {
  return ({ services, ratesPerS, powerCapW }, objective) => {
    const plan = planServices(model, services, ratesPerS, {
      rateMargin: 1,
      budgetEvaluations: 600,
      ...options,
      objective,
      powerCapW,
    })
    return plan.feasible ? { ...plan.configuration, admittedPerS: plan.admittedPerS } : undefined
  }
}
