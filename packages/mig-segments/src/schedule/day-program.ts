import { type LinearConstraint, loadSolver, type Term, type Variable } from '@pctodl/solver'
import { maximalPatterns, SIZES } from '../solve/size-counts.js'
import type { DayProblem } from './day-problem.js'

export interface DayAnswer {
  /** Segments by service and size of each period; null where none was found. */
  readonly counts: readonly Int32Array[] | null
  /** No schedule of these periods takes less, J above all boards parked. */
  readonly boundJ: number
}

/**
 * The integer program of some periods one after the other: segments and boards of each, what each size answers, and what is created from one
 * to the next. It leaves out that segments may have to move to make room, so its answer is a bound for every schedule.
 */
export async function solveDay(
  problem: DayProblem,
  periods: readonly number[],
  mostIterations: number,
  maxGpus: number = Number.POSITIVE_INFINITY,
): Promise<DayAnswer> {
  const { served, rates, needs, throughput, powerW, periodS, migrationS, idleW, parkedW } = problem
  const solver = await loadSolver()
  const places = served.flatMap((_, m) =>
    Array.from({ length: SIZES }, (_, s) => m * SIZES + s).filter((i) => throughput[i]! > 0),
  )
  const variables: Variable[] = []
  const constraints: LinearConstraint[] = []
  const variable = (each: Variable): number => variables.push(each) - 1
  // In kJ, so that coefficients are near 1.
  const kJ = 1e-3
  let before: number[] | undefined
  const countAt = periods.map((h) => {
    const count = places.map(() => variable({ objective: 0, whole: true }))
    const answered = places.map((i) => variable({ objective: kJ * periodS * (powerW[i]! / throughput[i]!) }))
    const boards = maximalPatterns.map(() => variable({ objective: kJ * periodS * (idleW - parkedW), whole: true }))
    served.forEach((_, m) => {
      const own = places.flatMap((i, v): Term[] => (Math.floor(i / SIZES) === m ? [[answered[v]!, 1]] : []))
      const rate = rates[h * served.length + m]!
      constraints.push({ terms: own, atLeast: rate, atMost: rate })
      const needed = needs[h * served.length + m]!
      if (needed === rate) return
      const capacity = places.flatMap((i, v): Term[] =>
        Math.floor(i / SIZES) === m ? [[count[v]!, throughput[i]! / needed]] : [],
      )
      constraints.push({ terms: capacity, atLeast: 1 })
    })
    places.forEach((i, v) => {
      constraints.push({
        terms: [
          [answered[v]!, 1 / throughput[i]!],
          [count[v]!, -1],
        ],
        atMost: 0,
      })
    })
    for (let s = 0; s < SIZES; s++) {
      const used = places.flatMap((i, v): Term[] => (i % SIZES === s ? [[count[v]!, 1]] : []))
      const held = maximalPatterns.flatMap((pattern, k): Term[] =>
        pattern[s]! > 0 ? [[boards[k]!, -pattern[s]!]] : [],
      )
      constraints.push({ terms: [...used, ...held], atMost: 0 })
    }
    if (Number.isFinite(maxGpus)) constraints.push({ terms: boards.map((each): Term => [each, 1]), atMost: maxGpus })
    places.forEach((i, v) => {
      if (!before) return
      const created = variable({ objective: kJ * migrationS * powerW[i]! })
      constraints.push({
        terms: [
          [created, 1],
          [count[v]!, -1],
          [before[v]!, 1],
        ],
        atLeast: 0,
      })
    })
    before = count
    return count
  })
  const { values, bound, status } = solver.solve(
    { sense: 'minimize', variables, constraints },
    { mostIterations, tolerance: 1e-9, absoluteGap: 0.01 },
  )
  if (status === 'infeasible') return { counts: null, boundJ: Number.POSITIVE_INFINITY }
  const counts =
    values &&
    countAt.map((count) => {
      const of = new Int32Array(served.length * SIZES)
      places.forEach((i, v) => {
        of[i] = Math.round(values[count[v]!]!)
      })
      return of
    })
  return { counts, boundJ: Math.max(0, bound) / kJ }
}
