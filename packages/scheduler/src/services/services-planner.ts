import { planServices, type ServicePlanOptions } from '@pctodl/greedy-partition/services'
import type { PerfModel } from '@pctodl/perf-model'
import type { Configuration, Service } from '@pctodl/platform'
import { remembered } from '../remembered.js'

export interface PlannedLoad {
  readonly services: readonly Service[]
  /** Arrival rates in the order of the services, requests/s; each above 0. */
  readonly ratesPerS: readonly number[]
  readonly powerCapW: number
}

/**
 * Goal of a plan:
 * - `max-load`: the largest common factor by which all rates can grow
 * - `min-power`: the lowest mean power over several loads; the tenants still serve almost the highest possible load
 * - `max-value`: the most answered requests by weight, if not all can be served
 */
export type ServicesGoal = 'min-power' | 'max-load' | 'max-value'

/**
 * Finds tenants for services; each tenant's `service` names the service whose requests it answers.
 *
 * @returns undefined if no tenants can serve the services under the cap
 */
export type ServicesPlanner = (load: PlannedLoad, goal: ServicesGoal) => Configuration | undefined

/**
 * Tenants for `min-power` must serve this share of the highest possible load, because rates may rise beyond the given
 * ones.
 */
const SERVED_SHARE = 0.95
/**
 * Variance-to-mean ratio of the arrivals for which tenants are planned. Measured traffic has bursts, and the traffic to
 * come is unknown. Tenants planned for Poisson arrivals need a higher clock in bursts; these draw little more without.
 */
const BURSTINESS = 8
/** Loads over which the mean power is minimized, as factors on the given rates. */
const LOADS = [0.5, 1, 2]

/**
 * The policy's default planner: `planServices` of `@pctodl/greedy-partition` with the measured rates. It adds no margin
 * to the rates, because the search for the highest load factor already provides headroom.
 *
 * @param options options of the search, e.g. its budget. Default: 600 evaluations
 */
export function planWithModel(
  model: PerfModel,
  options: Omit<ServicePlanOptions, 'objective' | 'powerCapW' | 'loads'> = {},
): ServicesPlanner {
  const plan: ServicesPlanner = ({ services, ratesPerS, powerCapW }, goal) => {
    // In an overload, capacity counts.
    const burstiness = goal === 'max-value' ? 1 : BURSTINESS
    const search = { rateMargin: 1, budgetEvaluations: 600, burstiness, ...options, powerCapW }
    const objective = goal === 'max-value' ? goal : 'max-load'
    const highest = planServices(model, services, ratesPerS, { ...search, objective })
    if (!highest.feasible) return undefined
    const keptLoad = SERVED_SHARE * highest.loadFactor
    if (goal !== 'min-power' || keptLoad < 1) return highest.configuration
    const lean = planServices(
      model,
      services,
      ratesPerS.map((rate) => keptLoad * rate),
      {
        ...search,
        objective: 'min-power',
        loads: LOADS.map((load) => Math.min(1, load / keptLoad)),
        startFrom: highest.configuration,
      },
    )
    return lean.feasible ? lean.configuration : highest.configuration
  }
  return (load, goal) => remembered(model, [load, goal, options], () => plan(load, goal))
}
