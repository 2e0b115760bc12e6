import { isComplete } from './composition.js'
import { better, type CompositionEvaluator, type Evaluation } from './composition-evaluator.js'
import type { SearchProblem } from './search-problem.js'

/**
 * Find the best allowed configuration by enumerating every multiset of tenants in every memory state; undefined if
 * there is none.
 */
export function bestOfAll(evaluator: CompositionEvaluator): Evaluation | undefined {
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
export function configurationCount({ kinds, totalUnits, maxTenants }: SearchProblem): number {
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
