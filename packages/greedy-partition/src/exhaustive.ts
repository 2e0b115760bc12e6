import type { Predictor } from '@pctodl/perf-model'
import { assertKnownOptions, InvalidInputError } from '@pctodl/platform'
import { isComplete } from './composition.js'
import { better, CompositionEvaluator, type Evaluation } from './composition-evaluator.js'
import { feasible } from './feasible.js'
import { infeasible } from './infeasible.js'
import { minPower } from './lowest-feasible-cap.js'
import type { PartitionOptions } from './options.js'
import type { PartitionResult } from './result.js'
import { number } from './search-options.js'
import { type SearchProblem, searchProblem } from './search-problem.js'

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
 * of 25 and 20 are fast, a step of 10 takes seconds. The objective is the throughput; budgets and seed in the options
 * are ignored.
 *
 * @param limits.maxConfigurations larger spaces are rejected, so that a typing error does not take a day; default 2
 * million
 * @throws InvalidInputError for invalid options, or a larger space
 */
export function exhaustive(
  predictor: Predictor,
  options: PartitionOptions,
  limits: { readonly maxConfigurations?: number } = {},
): PartitionResult {
  assertKnownOptions('limits', limits, ['maxConfigurations'])
  const maxConfigurations = number('maxConfigurations', limits.maxConfigurations ?? 2e6, 'a number', (x) => x > 0)
  const problem = searchProblem(predictor, { ...options, objective: 'throughput' })
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
  return feasible(evaluator, { evaluation: best, steps: [] }, 'exhausted')
}

/**
 * Find the best allowed configuration by enumerating every multiset of tenants in every memory state; undefined if
 * there is none.
 */
function bestOfAll(evaluator: CompositionEvaluator): Evaluation | undefined {
  const { problem } = evaluator
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
  return best
}

/**
 * Number of multisets of tenants that fit on the board. It follows from a generating function with one factor 1/(1 -
 * x^units y) per kind, where x counts share and y counts tenants.
 */
function configurationCount({ kinds, totalUnits, maxTenants }: SearchProblem): number {
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
