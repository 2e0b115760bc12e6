import { type LinearConstraint, loadSolver, type Term } from '@pctodl/solver'
import { type CoverProblem, isCovered } from './cover-problem.js'
import { gpcsOf, maximalPatterns, SIZES } from './size-counts.js'

export interface PatternGoal {
  /** What to make least. */
  readonly objective: 'gpus' | 'gpcs'
  /** Boards allowed. */
  readonly maxGpus: number
  /** Known to be needed; what is sought is at least this. */
  readonly atLeast: number
  /** Where to start from: segments by service and size. */
  readonly start: Int32Array
  /** Most simplex iterations. */
  readonly mostIterations: number
}

export interface PatternOutcome {
  /** Segments by service and size; null where none was found. */
  readonly counts: Int32Array | null
  /** No solution within `maxGpus` is below this; infinite where there is none at all. */
  readonly bound: number
}

/** Tighter than the solver's own: a coverage that is short by a millionth would lose requests. */
const FEASIBILITY = 1e-9

/**
 * Solve the pattern program: integers `x[m,s]` (segments of service m of size s) and `y[p]` (boards with the maximal pattern
 * p), each rate covered, and of each size at most as many segments as the boards' patterns hold.
 */
export async function solvePatterns(problem: CoverProblem, goal: PatternGoal): Promise<PatternOutcome> {
  const { objective, maxGpus, atLeast, start, mostIterations } = goal
  const solver = await loadSolver()
  const columns: { m: number; s: number }[] = []
  for (let m = 0; m < problem.services; m++) {
    for (let s = 0; s < SIZES; s++) if (problem.throughput[m * SIZES + s]! > 0) columns.push({ m, s })
  }
  const boards = maximalPatterns.map((_, p): Term => [columns.length + p, 1])
  const gpcs = columns.map(({ s }, x): Term => [x, gpcsOf[s]!])
  const constraints: LinearConstraint[] = []
  for (let m = 0; m < problem.services; m++) {
    // Divided by the rate, so that the tolerance is the same share of every service.
    const share = (s: number) => problem.throughput[m * SIZES + s]! / problem.rates[m]!
    const terms = columns.flatMap((column, x): Term[] => (column.m === m ? [[x, share(column.s)]] : []))
    constraints.push({ terms, atLeast: 1 })
  }
  for (let s = 0; s < SIZES; s++) {
    const used = columns.flatMap((column, x): Term[] => (column.s === s ? [[x, 1]] : []))
    const held = maximalPatterns.map((pattern, p): Term => [columns.length + p, -pattern[s]!])
    constraints.push({ terms: [...used, ...held], atMost: 0 })
  }
  constraints.push({ terms: boards, atMost: maxGpus })
  constraints.push({ terms: objective === 'gpus' ? boards : gpcs, atLeast })
  const answer = solver.solve(
    {
      sense: 'minimize',
      variables: [
        ...columns.map(({ s }) => ({ objective: objective === 'gpcs' ? gpcsOf[s]! : 0, whole: true })),
        ...boards.map(() => ({ objective: objective === 'gpus' ? 1 : 0, whole: true })),
      ],
      constraints,
    },
    {
      mostIterations,
      start: columns.map(({ m, s }, x): Term => [x, start[m * SIZES + s]!]),
      // Both objectives are whole numbers: a bound within this of the solution proves it.
      absoluteGap: 0.999,
      tolerance: FEASIBILITY,
    },
  )
  if (answer.status === 'infeasible') return { counts: null, bound: Number.POSITIVE_INFINITY }
  const bound = Math.max(atLeast, Math.ceil(answer.bound - 1e-6))
  return { counts: answer.values && countsOf(problem, columns, answer.values), bound }
}

function countsOf(
  problem: CoverProblem,
  columns: readonly { m: number; s: number }[],
  values: Float64Array,
): Int32Array | null {
  const counts = new Int32Array(problem.services * SIZES)
  columns.forEach(({ m, s }, x) => {
    counts[m * SIZES + s] = values[x]!
  })
  for (let m = 0; m < problem.services; m++) if (!isCovered(problem, m, counts, m * SIZES)) return null
  return counts
}
