import { cheapestCover } from './cheapest-cover.js'
import type { CoverProblem } from './cover-problem.js'
import { type CountSolution, solveHeuristically } from './heuristic.js'
import { gpcsOf } from './size-counts.js'
import { sliceBound } from './slice-bound.js'

/** A solution with what is known of the slices that any needs on as many boards. */
export interface LeanPlan {
  readonly solution: CountSolution
  /** No plan on as many boards has fewer compute slices. */
  readonly lowerBoundGpcs: number
}

/** Fewer compute slices on the boards of a solution, by the prices of the bound on them; milliseconds, no integer program. */
export function leanPlan(problem: CoverProblem, start: CountSolution, seed = 1): LeanPlan {
  const least = Math.min(start.gpcs, fewestGpcs(problem))
  if (start.gpcs <= least) return { solution: start, lowerBoundGpcs: least }
  const { gpcs, prices, relaxed } = sliceBound(problem, start.gpus, start.counts)
  const boardPrices = prices.map((price) => price / 7)
  const bound = { gpus: start.gpus, fraction: start.gpus, prices: boardPrices, relaxed }
  const lean = solveHeuristically(problem, bound, { seed, maxGpus: start.gpus })
  const solution = lean.gpus <= start.gpus && lean.gpcs < start.gpcs ? lean : start
  return { solution, lowerBoundGpcs: Math.min(solution.gpcs, Math.max(least, gpcs)) }
}

/** Compute slices that the services need whatever the boards: the sum of their leanest covers. */
export function fewestGpcs(problem: CoverProblem): number {
  let sum = 0
  for (let m = 0; m < problem.services; m++) sum += Math.ceil(cheapestCover(problem, m, gpcsOf).bound - 1e-6)
  return sum
}
