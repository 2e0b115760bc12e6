import type { CoverProblem } from './cover-problem.js'
import { type EnumerationGoal, enumerateTotals } from './enumerate-totals.js'
import { fewestGpus } from './fewest-gpus.js'
import type { CountSolution } from './heuristic.js'
import { leanPlan } from './lean-plan.js'
import type { PriceBound } from './price-bound.js'
import { gpcTotal, SIZES } from './size-counts.js'
import { type PatternGoal, solvePatterns } from './solve-patterns.js'

export interface ExactSolution {
  readonly solution: CountSolution
  /** No plan has fewer GPUs. */
  readonly lowerBoundGpus: number
  /** No plan with as many GPUs as this has fewer compute slices. */
  readonly lowerBoundGpcs: number
}

/**
 * Prove or improve a solution: fewest GPUs first, then fewest compute slices on that many. What the bounds leave open is
 * enumerated where that is little, and given to the solver where it is not; most problems never load it.
 *
 * @param start a solution
 * @param bound its lower bound on GPUs, with prices
 * @param mostIterations of the simplex method for each integer program; what could not be proved in them shows in the bounds
 */
export async function solveExactly(
  problem: CoverProblem,
  start: CountSolution,
  bound: PriceBound,
  mostIterations: number,
): Promise<ExactSolution> {
  /** The best solution within limits, or a proof that there is none, or only a bound. */
  const seek = async (
    goal: Omit<EnumerationGoal, 'prices'>,
    program: Omit<PatternGoal, 'start' | 'mostIterations'>,
  ) => {
    const enumerated = enumerateTotals(problem, { ...goal, prices: bound.prices })
    if (enumerated.kind === 'found') return { solution: solutionOf(enumerated.counts), bound: null }
    if (enumerated.kind === 'none') return { solution: null, bound: Number.POSITIVE_INFINITY }
    if (mostIterations === 0) return { solution: null, bound: program.atLeast }
    const outcome = await solvePatterns(problem, { ...program, start: solution.counts, mostIterations })
    return { solution: outcome.counts && solutionOf(outcome.counts), bound: outcome.bound }
  }

  let solution = start
  let lowerBoundGpus = bound.gpus
  while (solution.gpus > lowerBoundGpus) {
    const maxGpus = solution.gpus - 1
    const outcome = await seek(
      { maxGpus, maxGpcs: Number.POSITIVE_INFINITY },
      { objective: 'gpus', maxGpus, atLeast: lowerBoundGpus },
    )
    if (outcome.bound !== null) lowerBoundGpus = Math.min(solution.gpus, outcome.bound)
    if (!outcome.solution || outcome.solution.gpus > maxGpus) break
    solution = outcome.solution
  }
  const lean = leanPlan(problem, solution)
  solution = lean.solution
  let { lowerBoundGpcs } = lean
  if (solution.gpcs > lowerBoundGpcs) {
    const { gpus, gpcs } = solution
    const outcome = await seek(
      { maxGpus: gpus, maxGpcs: gpcs - 1 },
      { objective: 'gpcs', maxGpus: gpus, atLeast: lowerBoundGpcs },
    )
    if (outcome.solution && outcome.solution.gpus <= gpus && outcome.solution.gpcs < gpcs) solution = outcome.solution
    // Enumeration finds the leanest plan of all, so what it found is its own bound.
    lowerBoundGpcs = Math.min(solution.gpcs, outcome.bound ?? solution.gpcs)
  }
  return { solution, lowerBoundGpus, lowerBoundGpcs }
}

/** What segments by service and size come to. */
export function solutionOf(counts: Int32Array): CountSolution {
  const total = new Int32Array(SIZES)
  counts.forEach((count, i) => {
    total[i % SIZES]! += count
  })
  return { counts, gpus: fewestGpus(total), gpcs: gpcTotal(total) }
}
