import type { Predictor } from '@pctodl/perf-model'
import { InvalidInputError } from '@pctodl/platform'
import { isComplete } from './composition.js'
import { better, type Evaluation, Evaluator } from './evaluator.js'
import { feasible } from './feasible.js'
import { infeasible } from './infeasible.js'
import { leastPower } from './lowest-feasible-cap.js'
import type { PartitionOptions } from './options.js'
import type { PartitionResult } from './result.js'
import { type SearchProblem, searchProblem } from './search-problem.js'

/**
 * How many compositions the options allow: multisets of tenants whose shares sum to at most the board, before memory,
 * power and latency are looked at. A configuration of `exhaustive` is one of them in one memory state.
 *
 * @throws InvalidInputError
 */
export function countCompositions(predictor: Predictor, options: Omit<PartitionOptions, 'powerCapW'>): number {
  return count(searchProblem(predictor, { ...options, powerCapW: Number.MAX_VALUE }))
}

/**
 * The best configuration there is, by looking at all of them. Meant for coarse shares (steps of 25 and 20; 10 takes
 * seconds), to judge `partition` by. Budgets and seed of the options are not used.
 *
 * @param limits.maxConfigurations refuse larger spaces, so that a typing error does not take a day; default 2 million
 * @throws InvalidInputError also where the space is larger
 */
export function exhaustive(
  predictor: Predictor,
  options: PartitionOptions,
  { maxConfigurations = 2e6 }: { readonly maxConfigurations?: number } = {},
): PartitionResult {
  const problem = searchProblem(predictor, { ...options, budgetEvaluations: Number.MAX_SAFE_INTEGER })
  const configurations = count(problem) * problem.memClocksMhz.length
  if (configurations > maxConfigurations) {
    throw new InvalidInputError(
      'sharePercentStep',
      options.sharePercentStep ?? 5,
      `a step (or other limits) that leaves at most ${maxConfigurations} configurations; this one leaves ${configurations}`,
    )
  }
  const evaluator = new Evaluator(predictor, problem)
  const { kinds } = problem
  let best: Evaluation | undefined

  const visit = (composition: readonly number[], freeUnits: number) => {
    const from = composition.at(-1) ?? 0
    for (let kind = from; kind < kinds.tenants.length; kind++) {
      if (kinds.units[kind]! > freeUnits) continue
      const next = [...composition, kind]
      if (isComplete(kinds, next)) {
        for (let m = 0; m < problem.memClocksMhz.length; m++) best = better(best, evaluator.evaluateAfresh(next, m))
      }
      if (next.length < problem.maxTenants) visit(next, freeUnits - kinds.units[kind]!)
    }
  }
  visit([], problem.totalUnits)

  if (best === undefined) return infeasible(evaluator, leastPower(predictor, problem))
  return feasible(evaluator, best, 'exhausted', [])
}

/** Multisets by generating function: one factor 1/(1 - x^units y) per kind, x counting share and y tenants. */
function count({ kinds, totalUnits, maxTenants }: SearchProblem): number {
  const width = totalUnits + 1
  const depth = Math.min(maxTenants, totalUnits)
  const ways = new Float64Array((depth + 1) * width)
  ways[0] = 1
  for (const units of kinds.units) {
    for (let n = 1; n <= depth; n++) {
      for (let sum = units; sum <= totalUnits; sum++) {
        ways[n * width + sum]! += ways[(n - 1) * width + sum - units]!
      }
    }
  }
  return ways.reduce((total, x) => total + x, 0) - 1
}
