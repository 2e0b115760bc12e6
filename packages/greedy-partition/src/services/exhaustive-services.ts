import type { PerfModel } from '@pctodl/perf-model'
import { InvalidInputError, type Service } from '@pctodl/platform'
import { everyLayout } from './every-layout.js'
import type { Layout } from './layout.js'
import { bestFirst, LayoutScorer } from './layout-scorer.js'
import type { ServicePlanOptions } from './plan-options.js'
import { planProblem } from './plan-problem.js'
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
