import { PctodlError } from '@pctodl/platform'
import type { LinearProgram } from './linear-program.js'

/**
 * The solver failed, or its answer did not pass the check. The cause is a defect of the solver, or coefficients whose
 * magnitudes differ too much for double precision.
 */
export class SolverError extends PctodlError {
  constructor(problem: string) {
    super('SOLVER_FAILED', `${problem}; scale the program so that its coefficients are within a few powers of ten`)
  }
}

/**
 * Checks an answer against the program by plain arithmetic: integrality, bounds and constraints, within the tolerance.
 * Rounds integer variables in place before the other checks.
 *
 * @returns the objective of the checked values
 * @throws SolverError for a violation
 */
export function certify({ variables, constraints }: LinearProgram, values: Float64Array, tolerance: number): number {
  let objective = 0
  variables.forEach(({ objective: each, atLeast = 0, atMost = Number.POSITIVE_INFINITY, whole }, i) => {
    if (whole === true) {
      const rounded = Math.round(values[i]!)
      // Solvers accept values within about 1e-6 of an integer.
      if (!(Math.abs(rounded - values[i]!) <= 1e-5))
        throw new SolverError(`variable ${i} came back as ${values[i]}, not whole`)
      values[i] = rounded
    }
    const room = tolerance * Math.max(1, Math.abs(values[i]!))
    if (!(values[i]! >= atLeast - room && values[i]! <= atMost + room)) {
      throw new SolverError(`variable ${i} came back as ${values[i]}, outside ${atLeast} to ${atMost}`)
    }
    objective += each * values[i]!
  })
  constraints.forEach(({ terms, atLeast = Number.NEGATIVE_INFINITY, atMost = Number.POSITIVE_INFINITY }, i) => {
    let sum = 0
    let size = 1
    for (const [variable, coefficient] of terms) {
      sum += coefficient * values[variable]!
      size = Math.max(size, Math.abs(coefficient * values[variable]!))
    }
    if (!(sum >= atLeast - tolerance * size && sum <= atMost + tolerance * size)) {
      throw new SolverError(`constraint ${i} came out as ${sum}, outside ${atLeast} to ${atMost}`)
    }
  })
  return objective
}
