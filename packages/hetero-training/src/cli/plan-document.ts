import { PLAN_FORMAT, PLAN_VERSION } from '../carry-out/plan-file.js'
import type { ComparedPlanName } from '../compare-plans.js'
import type { ParetoFront } from '../pareto-front.js'
import type { PublishedAllocation } from '../published/published-search.js'
import type { GpuPlan, TrainingPlan } from '../training-plan.js'
import type { PlanCall } from './plan-options.js'

/** What a call of the planner answers. */
export interface PlanAnswer {
  readonly plan: TrainingPlan
  /** No plan costs less, W s; null for a published search, which does not know. */
  readonly lowerBound: number | null
  readonly warnings: readonly string[]
  /** Why SM clocks are locked, a sentence for each that is. */
  readonly clockReasons: readonly string[]
  readonly published: PublishedAllocation | null
  readonly compared: ReadonlyMap<ComparedPlanName, TrainingPlan>
  readonly front: ParetoFront | null
  readonly searchMs: number
}

/** Optimiser steps of an epoch: the last one may be smaller. */
export function stepsOfEpoch(datasetSize: number, globalBatch: number): number {
  return Math.ceil(datasetSize / globalBatch)
}

/** The answer as `--json` prints it; of a plan, for those who carry it out, see `PlanFile`. */
export interface PlanDocument extends Omit<TrainingPlan, 'gpus'> {
  readonly format: typeof PLAN_FORMAT
  readonly version: typeof PLAN_VERSION
  readonly globalBatch: number
  readonly eta: number | undefined
  readonly budgets: PlanCall['budgets']
  /** Exchange of the gradients after each step, s. */
  readonly allReduceS: number
  readonly gpus: readonly (GpuPlan & { readonly gradientWeight: number })[]
  readonly lowerBound: number | null
  /** One pass over the dataset; null where its size is not known. */
  readonly epoch: { readonly steps: number; readonly timeS: number; readonly energyJ: number } | null
  readonly compared: Readonly<Record<string, TrainingPlan>>
  readonly published: PublishedAllocation | null
  readonly front: ParetoFront | null
  readonly warnings: readonly string[]
  readonly clockReasons: readonly string[]
  readonly searchMs: number
}

export function planDocument({ job, budgets, datasetSize }: PlanCall, answer: PlanAnswer): PlanDocument {
  const { plan, lowerBound, warnings, clockReasons, published, compared, front, searchMs } = answer
  const { globalBatch } = job
  const steps = datasetSize === null || plan.unit === 'window' ? null : stepsOfEpoch(datasetSize, globalBatch)
  return {
    format: PLAN_FORMAT,
    version: PLAN_VERSION,
    globalBatch,
    eta: job.eta,
    budgets,
    allReduceS: job.allReduceS ?? 0,
    ...plan,
    gpus: plan.gpus.map((gpu) => ({ ...gpu, gradientWeight: gpu.share / globalBatch })),
    lowerBound,
    epoch: steps === null ? null : { steps, timeS: steps * plan.timeS, energyJ: steps * plan.energyJ },
    compared: Object.fromEntries(compared),
    published,
    front: front && { plans: front.plans, knee: front.knee },
    warnings,
    clockReasons,
    searchMs,
  }
}
