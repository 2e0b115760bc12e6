import { planServices, type ServicePlanOptions } from '@pctodl/greedy-partition/services'
import type { PerfModel } from '@pctodl/perf-model'
import type { Configuration, Service } from '@pctodl/platform'

export interface PlannedLoad {
  readonly services: readonly Service[]
  /** Requests/s, in the order of the services, each above 0. */
  readonly ratesPerS: readonly number[]
  readonly powerCapW: number
}

/**
 * What tenants are planned for:
 * - `max-load`: the largest common factor on the rates
 * - `min-power`: the least mean power while the rates change, bearing most of the highest load
 * - `max-value`: the most weighted requests, if not all can be served
 */
export type ServicesGoal = 'min-power' | 'max-load' | 'max-value'

/**
 * Finds tenants for services, each named after the service whose requests it answers.
 *
 * @returns undefined where no tenants serve them at all under the cap
 */
export type ServicesPlanner = (load: PlannedLoad, goal: ServicesGoal) => Configuration | undefined

/** Share of the highest load that tenants for `min-power` bear, because the rates told are not the highest to come. */
const BORNE = 0.95
/** Loads whose mean power they minimise, as factors on the rates. */
const LOADS = [0.5, 1, 2]

/**
 * The policy's default planner: `planServices` of `@pctodl/greedy-partition` with the measured rates and no margin on them, because
 * the load factor that it returns is the headroom.
 *
 * @param options of the search, e.g. its budget. Default: 600 evaluations
 */
export function planWithModel(
  model: PerfModel,
  options: Omit<ServicePlanOptions, 'objective' | 'powerCapW' | 'loads'> = {},
): ServicesPlanner {
  return ({ services, ratesPerS, powerCapW }, goal) => {
    const search = { rateMargin: 1, budgetEvaluations: 600, ...options, powerCapW }
    const objective = goal === 'max-value' ? goal : 'max-load'
    const highest = planServices(model, services, ratesPerS, { ...search, objective })
    if (!highest.feasible) return undefined
    const borne = BORNE * highest.loadFactor
    if (goal !== 'min-power' || borne < 1) return highest.configuration
    const lean = planServices(
      model,
      services,
      ratesPerS.map((rate) => borne * rate),
      {
        ...search,
        objective: 'min-power',
        loads: LOADS.map((load) => Math.min(1, load / borne)),
        startFrom: highest.configuration,
      },
    )
    return lean.feasible ? lean.configuration : highest.configuration
  }
}
