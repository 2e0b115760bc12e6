import type { PerfModel } from '@pctodl/perf-model'
import { InvalidInputError, type Service } from '@pctodl/platform'
import { fits, type Instances, type Layout } from './layout.js'
import { bestFirst, LayoutScorer } from './layout-scorer.js'
import type { ServicePlanOptions } from './plan-options.js'
import { type PlanProblem, planProblem } from './plan-problem.js'
import type { ServicePlan } from './plan-result.js'
import { servicePlan } from './service-plan.js'

/**
 * Find the best plan by enumerating every layout with identical processes per service, as a reference for
 * `planServices`. It is meant for two or three services, coarse shares and few batch sizes. Budgets and seed in the
 * options are ignored.
 *
 * @param limits.maxLayouts larger spaces are rejected, so that a typing error does not take a day; default 200,000
 * @throws InvalidInputError for invalid options, or a larger space
 */
export function exhaustiveServices(
  model: PerfModel,
  services: readonly Service[],
  ratesPerS: readonly number[],
  options: ServicePlanOptions,
  { maxLayouts = 200_000 }: { readonly maxLayouts?: number } = {},
): ServicePlan {
  const problem = planProblem(model, services, ratesPerS, options)
  const layouts: Layout[] = []
  for (const layout of everyLayout(problem)) {
    if (layouts.push(layout) <= maxLayouts) continue
    const expected = `a step, batch sizes or instances that leave at most ${maxLayouts} layouts`
    throw new InvalidInputError('sharePercentStep', options.sharePercentStep ?? 5, expected)
  }
  const scorer = new LayoutScorer(problem)
  const best = layouts.flatMap((layout) => scorer.score(layout) ?? []).sort(bestFirst)[0]
  return servicePlan(scorer, best, 'exhausted')
}

/** Enumerate all layouts that fit on the board. */
function* everyLayout(problem: PlanProblem): Generator<Layout> {
  for (let memIndex = 0; memIndex < problem.memClocksMhz.length; memIndex++) {
    yield* from(problem, memIndex, [], problem.totalUnits, problem.maxTenants)
  }
}

function* from(
  problem: PlanProblem,
  memIndex: number,
  services: readonly Instances[],
  units: number,
  tenants: number,
): Generator<Layout> {
  const of = problem.services[services.length]
  if (of === undefined) {
    const layout = { services, memIndex }
    if (fits(problem, layout)) yield layout
    return
  }
  for (let count = 1; count <= Math.min(problem.maxInstances, tenants); count++) {
    for (let each = 1; count * each <= units; each++) {
      for (let batch = 0; batch < of.batchSizes.length; batch++) {
        const next = [...services, { count, units: each, batch }]
        yield* from(problem, memIndex, next, units - count * each, tenants - count)
      }
    }
  }
}
