import { ServingModel } from '@pctodl/perf-model/serving'
import type { StoppedBecause } from '../result.js'
import { configurationOf } from './layout.js'
import type { LayoutScorer, Scored } from './layout-scorer.js'
import { noPlan } from './no-plan.js'
import { planBound } from './plan-bound.js'
import type { PlanProblem } from './plan-problem.js'
import type { FeasibleServicePlan, PlanBinds, PlanBound, ServicePlan } from './plan-result.js'

/** Factor by which the load is raised to find the limit that is violated first. */
const A_LITTLE = 1.01

/** Result of a search, from the best layout found, if any. */
export function servicePlan(
  scorer: LayoutScorer,
  best: Scored | undefined,
  stoppedBecause: StoppedBecause,
): ServicePlan {
  const fits = best !== undefined && best.shortfall === 0 && best.powerW <= scorer.problem.powerLimitW
  return fits ? feasiblePlan(scorer, best, stoppedBecause) : noPlan(scorer, best)
}

function feasiblePlan(scorer: LayoutScorer, best: Scored, stoppedBecause: StoppedBecause): FeasibleServicePlan {
  const { problem } = scorer
  const { model, costs, goal, rateMargin, burstiness, powerCapW, boardLimitW } = problem
  const configuration = configurationOf(problem, best.layout, best.clockIndex)
  const score = goal === 'max-value' ? -best.cost / rateMargin : Math.abs(best.cost)
  const services = problem.services.map(({ service }) => service)
  const admittedPerS = best.ratesPerS.map((rate, i) => {
    const share = Math.min(1, rate / problem.ratesPerS[i]!)
    return share * problem.askedPerS[i]!
  })
  const loadFactor =
    goal === 'max-load'
      ? -best.cost
      : goal === 'min-power'
        ? 1
        : Math.min(...admittedPerS.map((rate, i) => rate / problem.askedPerS[i]!))
  const served = goal === 'max-load' ? best.ratesPerS.map((rate) => rate / rateMargin) : admittedPerS
  const prediction = new ServingModel(model, configuration, services, { costs }).predict(
    served.map((rate) => Math.max(1e-6, rate)),
    burstiness,
  )
  return {
    feasible: true,
    configuration,
    maxQueueDelayMs: services.map(({ maxQueueDelayMs }) => maxQueueDelayMs),
    prediction,
    loadFactor,
    admittedPerS,
    marginW: powerCapW - prediction.powerW,
    score,
    binds: bindsOf(scorer, best),
    ...(problem.bound ? { bound: boundOf(problem, score) } : {}),
    ...(boardLimitW === undefined ? {} : { boardLimitW }),
    evaluations: scorer.evaluations,
    stoppedBecause,
  }
}

function boundOf(problem: PlanProblem, score: number): PlanBound {
  const bound = planBound(problem)
  const value = problem.goal === 'max-value' ? bound / problem.rateMargin : bound
  return { value, gap: Math.max(0, problem.goal === 'min-power' ? score / value - 1 : value / score - 1) }
}

/** The limit that is violated first at a slightly higher load; for `min-power`, at the next lower clock. */
function bindsOf(scorer: LayoutScorer, best: Scored): PlanBinds {
  const { problem } = scorer
  const board = scorer.board(best.layout)
  if (problem.goal === 'min-power' && best.clockIndex === 0) return { what: 'lowest-clock' }
  const all = best.ratesPerS.every((rate, i) => rate >= problem.ratesPerS[i]! * (1 - 1e-9))
  if (problem.goal === 'max-value' && all) return { what: 'nothing' }
  const [clockIndex, factor] = problem.goal === 'min-power' ? [best.clockIndex - 1, 1] : [best.clockIndex, A_LITTLE]
  const attainments = new Float64Array(problem.services.length)
  const powerW = board.powerAt(
    clockIndex,
    best.ratesPerS.map((rate) => Math.max(1e-6, factor * rate)),
    attainments,
  )
  if (problem.goal !== 'min-power' && powerW > problem.powerLimitW) return { what: 'power-cap' }
  const least = attainments.indexOf(Math.min(...attainments))
  return { what: 'objective', service: problem.services[least]!.service.name }
}
