import { InvalidInputError } from '@pctodl/platform'
import type { Budgets } from './find-plan.js'
import { publishedAllocation } from './published/published-search.js'
import { publishedPlan, type SimplePlanName, simplePlans } from './simple-plans.js'
import type { TrainingJob } from './training-job.js'
import type { TrainingPlan } from './training-plan.js'

export type ComparedPlanName = SimplePlanName | 'published optimum'

/**
 * What a job would take without our search, under the same model: the simple plans, and for two GPUs with at least three batch sizes
 * each also the optimum of the published cost. The published one knows no `maxShare` and no choice of limits.
 *
 * @throws InvalidInputError for a bad job
 */
export function comparedPlans(job: TrainingJob): ReadonlyMap<ComparedPlanName, TrainingPlan> {
  const plans = new Map<ComparedPlanName, TrainingPlan>(simplePlans(job))
  const published = publishedOptimum(job)
  if (published !== null) plans.set('published optimum', published)
  return plans
}

/** Whether a plan keeps budgets. */
export function keepsBudgets({ timeS, energyJ, powerLimitW }: TrainingPlan, budgets: Budgets): boolean {
  const within = (value: number, budget: number | undefined) => budget === undefined || value <= budget
  return within(timeS, budgets.timeS) && within(energyJ, budgets.energyJ) && within(powerLimitW, budgets.powerW)
}

function publishedOptimum(job: TrainingJob): TrainingPlan | null {
  if (job.gpus.length !== 2 || job.globalBatch < 2) return null
  const profiles = job.gpus.map(({ profile }) => profile)
  try {
    return publishedPlan(job, publishedAllocation(profiles, 'bruteForce', job.globalBatch))
  } catch (error) {
    // Two batch sizes are enough for our curves and too few for its parabolas.
    if (error instanceof InvalidInputError && error.field.endsWith('batch sizes')) return null
    throw error
  }
}
