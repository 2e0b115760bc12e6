import { SeededRandom } from '@pctodl/numerics'
import type { PerfModel } from '@pctodl/perf-model'
import type { Service } from '@pctodl/platform'
import { type ClimbSettings, climbAll } from '../climb.js'
import { bestFirst, LayoutScorer } from './layout-scorer.js'
import { startLayouts } from './layout-starts.js'
import type { ServicePlanOptions } from './plan-options.js'
import { type PlanProblem, planProblem } from './plan-problem.js'
import type { PlanBound, ServicePlan } from './plan-result.js'
import { servicePlan } from './service-plan.js'

const settings: ClimbSettings = {
  starts: 4,
  finished: Infinity,
  patience: Infinity,
  patienceAfterShake: Infinity,
  shakes: 12,
}

/**
 * Choose processes, shares, batch sizes, SM clock and memory clock for services, so that their latency objectives hold
 * under the power cap. The goal is minimum power, the largest common factor on the rates, or the most weighted
 * requests.
 *
 * @param ratesPerS arriving requests/s, in the order of the services, each at least 0
 * @throws InvalidInputError for invalid options
 * @throws UnknownNameError for a network that the model does not know. A cap, objective, rate or memory that cannot be
 * met is a result (`feasible: false`), not an error.
 */
export function planServices(
  model: PerfModel,
  services: readonly Service[],
  ratesPerS: readonly number[],
  options: ServicePlanOptions,
): ServicePlan {
  const problem = planProblem(model, services, ratesPerS, options)
  if (problem.goal !== 'max-value') return planFor(problem)
  // If all requests can be answered, the plan of minimum power also has the maximum value.
  // The search for it gets half of the time.
  const all = planFor({ ...problem, goal: 'min-power', deadlineMs: (problem.now() + problem.deadlineMs) / 2 })
  if (all.feasible) return { ...all, score: valueOfAll(problem), binds: { what: 'nothing' }, ...boundOfAll(problem) }
  return planFor(problem)
}

function planFor(problem: PlanProblem): ServicePlan {
  const scorer = new LayoutScorer(problem)
  const starts = startLayouts(problem).flatMap((layout) => scorer.score(layout) ?? [])
  if (starts.length === 0) return servicePlan(scorer, undefined, 'exhausted')
  const best = problem.improve
    ? climbAll(scorer, starts, new SeededRandom(problem.seed), settings)
    : starts.sort(bestFirst)[0]!
  const stoppedBecause = problem.improve ? (scorer.spent() ?? 'no-improving-move') : 'greedy-only'
  return servicePlan(scorer, best, stoppedBecause)
}

/** Value of admitting all requests. */
function valueOfAll({ askedPerS, services }: PlanProblem): number {
  return askedPerS.reduce((sum, rate, i) => sum + services[i]!.service.weight * rate, 0)
}

function boundOfAll(problem: PlanProblem): { bound?: PlanBound } {
  return problem.bound ? { bound: { value: valueOfAll(problem), gap: 0 } } : {}
}
