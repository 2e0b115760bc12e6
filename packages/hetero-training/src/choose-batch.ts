import { leastSquares } from '@pctodl/numerics'
import { InvalidInputError } from '@pctodl/platform'
import { type Budgets, type FoundPlan, findPlan, InfeasibleBudgetError } from './find-plan.js'
import type { TrainingJob } from './training-job.js'

/** How many steps a job takes to its accuracy, as a function of the global batch. */
export interface Convergence {
  /** Steps that even the largest batch needs. */
  readonly minSteps: number
  /** Gradient noise scale, samples: a batch of this size needs twice as many steps, and twice as many samples as the smallest. */
  readonly noiseScale: number
}

export interface BatchChoice {
  readonly globalBatch: number
  /** To the accuracy. */
  readonly steps: number
  readonly timeS: number
  readonly energyJ: number
  /** eta * energy + (1 - eta) * sum of largest limits * time, W s. */
  readonly cost: number
  /** Of one step. */
  readonly plan: FoundPlan
}

export interface ChosenBatch extends BatchChoice {
  /** All batches that were asked for and can be trained, as they were given. */
  readonly choices: readonly BatchChoice[]
}

/**
 * Steps to an accuracy: minSteps * (1 + noiseScale / batch) (McCandlish et al. 2018, "An Empirical Model of Large-Batch Training",
 * arXiv 1812.06162, equation 2.11 and appendix D). An expectation: training runs scatter around it.
 */
export function stepsToAccuracy({ minSteps, noiseScale }: Convergence, globalBatch: number): number {
  return minSteps * (1 + noiseScale / globalBatch)
}

/**
 * Both numbers from finished runs: least squares of the line steps = minSteps + minSteps * noiseScale / batch.
 *
 * @param runs batches and the steps that they took to the same accuracy; at least two different batches
 * @throws InvalidInputError for fewer, and where larger batches took more steps
 */
export function fitConvergence(runs: readonly { readonly globalBatch: number; readonly steps: number }[]): Convergence {
  for (const [i, { globalBatch, steps }] of runs.entries()) {
    if (!(globalBatch > 0 && steps > 0 && Number.isFinite(globalBatch) && Number.isFinite(steps))) {
      throw new InvalidInputError(`runs[${i}]`, `batch ${globalBatch}, ${steps} steps`, 'two positive numbers')
    }
  }
  if (new Set(runs.map(({ globalBatch }) => globalBatch)).size < 2) {
    throw new InvalidInputError('runs', runs.length, 'runs of at least two different batches')
  }
  const [minSteps = 0, slope = 0] = leastSquares(
    runs.map(({ globalBatch }) => [1, 1 / globalBatch]),
    runs.map(({ steps }) => steps),
  )
  if (!(slope >= 0 && minSteps > 0)) {
    const seen = runs.map(({ globalBatch, steps }) => `${steps} steps of ${globalBatch}`).join(', ')
    throw new InvalidInputError('runs', seen, 'runs whose steps fall with the batch, and by less than in proportion')
  }
  return { minSteps, noiseScale: slope / minSteps }
}

/**
 * The global batch, with its split and limits, that reaches an accuracy for the least cost: large batches need fewer steps and small ones
 * fewer samples. Each batch has its cheapest plan; those that budgets or memory leave no plan are passed over.
 *
 * @param batches global batches to choose from, samples
 * @throws InvalidInputError for a bad job, batches that are none and a convergence that is none; InfeasibleBudgetError where no batch has a plan
 */
export function chooseGlobalBatch(
  job: Omit<TrainingJob, 'globalBatch'>,
  batches: readonly number[],
  convergence: Convergence,
  budgets: Budgets = {},
): ChosenBatch {
  if (batches.length === 0) throw new InvalidInputError('batches', 'none', 'at least one global batch')
  const { minSteps, noiseScale } = convergence
  if (!(minSteps > 0 && Number.isFinite(minSteps))) {
    throw new InvalidInputError('convergence.minSteps', minSteps, 'a positive number of steps')
  }
  if (!(noiseScale >= 0 && Number.isFinite(noiseScale))) {
    throw new InvalidInputError('convergence.noiseScale', noiseScale, 'samples, at least 0')
  }
  if (job.gpus.some(({ profile }) => profile.unit !== 'step')) {
    throw new InvalidInputError(
      'gpus',
      'profiles in windows',
      'profiles in steps: the steps to an accuracy are counted',
    )
  }
  let reason: InfeasibleBudgetError | undefined
  const choices = batches.flatMap((globalBatch): BatchChoice[] => {
    try {
      const plan = findPlan({ ...job, globalBatch }, budgets)
      const steps = stepsToAccuracy(convergence, globalBatch)
      return [
        { globalBatch, steps, timeS: steps * plan.timeS, energyJ: steps * plan.energyJ, cost: steps * plan.cost, plan },
      ]
    } catch (error) {
      if (!(error instanceof InfeasibleBudgetError)) throw error
      reason = error
      return []
    }
  })
  if (choices.length === 0) throw reason!
  return { ...choices.reduce((best, other) => (other.cost < best.cost ? other : best)), choices }
}
