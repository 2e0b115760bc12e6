import type { PerfModel } from '@pctodl/perf-model'
import type { Service } from '@pctodl/platform'
import { bestFirst, LayoutScorer, type Scored } from './layout-scorer.js'
import { equalShares, sharesByLoad, uniformLayouts } from './layout-starts.js'
import type { ServicePlanOptions } from './plan-options.js'
import { planProblem } from './plan-problem.js'
import type { ServicePlan } from './plan-result.js'
import { servicePlan } from './service-plan.js'

/**
 * Baselines without a search, with one process per service:
 * - `equal-shares`: equal shares; the batch sizes are optimised for one service after the other
 * - `one-batch`: equal shares and one batch size for all services
 * - `shares-by-load`: shares by the fraction of the board that the requests would need, with optimised batch sizes
 *
 * SM and memory clock are chosen as in `planServices`.
 */
export type PlainManner = 'equal-shares' | 'one-batch' | 'shares-by-load'

/**
 * Plan by a baseline, for comparison.
 *
 * @throws what `planServices` throws
 */
export function plainPlan(
  model: PerfModel,
  services: readonly Service[],
  ratesPerS: readonly number[],
  options: ServicePlanOptions,
  manner: PlainManner,
): ServicePlan {
  const problem = planProblem(model, services, ratesPerS, options)
  const scorer = new LayoutScorer(problem)
  const sharesOf = (memIndex: number, batch: number) => [
    manner === 'shares-by-load' ? sharesByLoad(problem, memIndex, batch) : equalShares(problem),
  ]
  const starts = uniformLayouts(problem, sharesOf, [1]).flatMap((layout) => scorer.score(layout) ?? [])
  let best = starts.sort(bestFirst)[0]
  if (best !== undefined && manner !== 'one-batch') best = ownBatches(scorer, best)
  return servicePlan(scorer, best, 'greedy-only')
}

/** Optimise the batch size of one service after the other, until none improves. */
function ownBatches(scorer: LayoutScorer, from: Scored): Scored {
  const { services } = scorer.problem
  let best = from
  for (let changed = true; changed; ) {
    changed = false
    for (let i = 0; i < services.length; i++) {
      for (let batch = 0; batch < services[i]!.batchSizes.length; batch++) {
        const { layout } = best
        const tried = scorer.score({
          ...layout,
          services: layout.services.with(i, { ...layout.services[i]!, batch }),
        })
        if (tried === undefined || bestFirst(tried, best) >= 0 || tried.layout === best.layout) continue
        best = tried
        changed = true
      }
    }
  }
  return best
}
