import type { Predictor } from '@pctodl/perf-model'
import { InvalidInputError } from '@pctodl/platform'
import { bestOfAll, configurationCount } from './best-of-all.js'
import { CompositionEvaluator } from './composition-evaluator.js'
import { feasible } from './feasible.js'
import { infeasible } from './infeasible.js'
import { minPower } from './lowest-feasible-cap.js'
import type { PartitionOptions } from './options.js'
import type { PartitionResult } from './result.js'
import { searchProblem } from './search-problem.js'

/**
 * Number of compositions that the options allow: multisets of tenants that fit on the board, before memory, power and
 * latency are checked. `exhaustive` evaluates each of these in every memory state.
 *
 * @throws InvalidInputError
 */
export function countCompositions(predictor: Predictor, options: Omit<PartitionOptions, 'powerCapW'>): number {
  return configurationCount(searchProblem(predictor, { ...options, powerCapW: Number.MAX_VALUE }))
}

/**
 * Find the best configuration by full enumeration, as a reference for `partition`. It is meant for coarse shares: steps
 * of 25 and 20 are fast, a step of 10 takes seconds. Budgets and seed in the options are ignored.
 *
 * @param limits.maxConfigurations larger spaces are rejected, so that a typing error does not take a day; default 2
 * million
 * @throws InvalidInputError for invalid options, or a larger space
 */
export function exhaustive(
  predictor: Predictor,
  options: PartitionOptions,
  { maxConfigurations = 2e6 }: { readonly maxConfigurations?: number } = {},
): PartitionResult {
  const problem = searchProblem(predictor, { ...options, budgetEvaluations: Number.MAX_SAFE_INTEGER })
  const configurations = configurationCount(problem) * problem.memClocksMhz.length
  if (configurations > maxConfigurations) {
    throw new InvalidInputError(
      'sharePercentStep',
      options.sharePercentStep ?? 5,
      `a step (or other limits) that leaves at most ${maxConfigurations} configurations; this one leaves ${configurations}`,
    )
  }
  const evaluator = new CompositionEvaluator(predictor, problem)
  const best = bestOfAll(evaluator)
  if (best === undefined) return infeasible(evaluator, minPower(predictor, problem))
  return feasible(evaluator, best, 'exhausted', [])
}
