import { leastSquares } from '@pctodl/numerics'
import { type Budgets, type FoundPlan, InfeasibleBudgetError, planOrReason } from './find-plan.js'
import { assertInput } from './input-checks.js'
import type { TrainingJob } from './training-job.js'

/** Number of steps to the target accuracy as a function of the global batch. */
export interface Convergence {
  /** Number of steps that an arbitrarily large batch needs. */
  readonly minSteps: number
  /** Gradient noise scale, samples. A batch of this size needs twice the minimum number of steps. */
  readonly noiseScale: number
}

/** A batch with its plan. Time, energy and cost are totals over all steps to the accuracy. */
export interface BatchChoice extends Pick<FoundPlan, 'timeS' | 'energyJ' | 'cost'> {
  readonly globalBatch: number
  readonly steps: number
  /** Plan of one step. */
  readonly plan: FoundPlan
}

export interface ChosenBatch extends BatchChoice {
  /** All requested batches that can be trained, in the order given. */
  readonly choices: readonly BatchChoice[]
}

/**
 * Expected steps to an accuracy (McCandlish et al. 2018, "An Empirical Model of Large-Batch Training", arXiv 1812.06162,
 * equation 2.11 and appendix D). Training runs scatter around it.
 */
export function stepsToAccuracy({ minSteps, noiseScale }: Convergence, globalBatch: number): number {
  return minSteps * (1 + noiseScale / globalBatch)
}

/**
 * Fit both numbers to finished runs: least squares of the line steps = minSteps + minSteps * noiseScale / batch.
 *
 * @param runs batches and their steps to the same accuracy; at least two different batches
 * @throws InvalidInputError for fewer, or if larger batches took more steps
 */
export function fitConvergence(runs: readonly { readonly globalBatch: number; readonly steps: number }[]): Convergence {
  for (const [i, { globalBatch, steps }] of runs.entries()) {
    const isPositive = [globalBatch, steps].every((value) => value > 0 && value < Infinity)
    assertInput(isPositive, `runs[${i}]`, `batch ${globalBatch}, ${steps} steps`, 'two positive numbers')
  }
  const batches = new Set(runs.map(({ globalBatch }) => globalBatch))
  assertInput(batches.size >= 2, 'runs', runs.length, 'runs of at least two different batches')
  const [minSteps = 0, slope = 0] = leastSquares(
    runs.map(({ globalBatch }) => [1, 1 / globalBatch]),
    runs.map(({ steps }) => steps),
  )
  const seen = runs.map(({ globalBatch, steps }) => `${steps} steps of ${globalBatch}`).join(', ')
  const expected = 'runs whose steps fall with the batch, less than proportionally'
  assertInput(slope >= 0 && minSteps > 0, 'runs', seen, expected)
  return { minSteps, noiseScale: slope / minSteps }
}

/**
 * Finds the global batch, with its split and limits, that reaches an accuracy at the lowest cost. Large batches need
 * fewer steps, small ones fewer samples. Batches with no plan within the budgets and the memory are skipped.
 *
 * @param batches candidate global batches, samples
 * @throws InvalidInputError for an invalid job, batch or convergence; InfeasibleBudgetError if no batch has a plan
 */
export function chooseGlobalBatch(
  job: Omit<TrainingJob, 'globalBatch'>,
  batches: readonly number[],
  convergence: Convergence,
  budgets: Budgets = {},
): ChosenBatch {
  assertInput(batches.length > 0, 'batches', 'none', 'at least one global batch')
  const { minSteps, noiseScale } = convergence
  assertInput(minSteps > 0 && minSteps < Infinity, 'convergence.minSteps', minSteps, 'a positive number of steps')
  assertInput(noiseScale >= 0 && noiseScale < Infinity, 'convergence.noiseScale', noiseScale, 'samples, at least 0')
  const isInSteps = job.gpus.every(({ profile }) => profile.unit === 'step')
  assertInput(isInSteps, 'gpus', 'profiles in windows', 'profiles in steps, the unit of the convergence')
  let reason: InfeasibleBudgetError | undefined
  const choices = batches.flatMap((globalBatch): BatchChoice[] => {
    const plan = planOrReason({ ...job, globalBatch }, budgets)
    if (plan instanceof InfeasibleBudgetError) {
      reason = plan
      return []
    }
    const steps = stepsToAccuracy(convergence, globalBatch)
    const { timeS, energyJ, cost } = plan
    return [{ globalBatch, steps, timeS: steps * timeS, energyJ: steps * energyJ, cost: steps * cost, plan }]
  })
  if (choices.length === 0) throw reason!
  return { ...choices.reduce((best, other) => (other.cost < best.cost ? other : best)), choices }
}
