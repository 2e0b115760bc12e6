import { InvalidInputError } from '@pctodl/platform'

/**
 * A linear program: a linear objective over bounded variables, minimized or maximized subject to linear constraints.
 */
export interface LinearProgram {
  readonly sense: 'minimize' | 'maximize'
  readonly variables: readonly Variable[]
  readonly constraints: readonly LinearConstraint[]
}

export interface Variable {
  /** Coefficient in the objective. */
  readonly objective: number
  /** Lower bound. Default 0. */
  readonly atLeast?: number
  /** Upper bound. Default: none. */
  readonly atMost?: number
  /** Restrict the variable to integers. */
  readonly whole?: boolean
}

export type Term = readonly [variable: number, coefficient: number]

/** `atLeast <= sum of coefficient x variable <= atMost`. An absent side is unbounded; equal sides make an equation. */
export interface LinearConstraint {
  /** Coefficients of the variables. A variable is named by its index in `variables` and may occur once. */
  readonly terms: readonly Term[]
  readonly atLeast?: number
  readonly atMost?: number
}

/**
 * Checks that a program is well formed.
 *
 * @throws InvalidInputError that names the invalid entry
 */
export function assertProgram({ variables, constraints }: LinearProgram): void {
  variables.forEach(({ objective, atLeast = 0, atMost = Number.POSITIVE_INFINITY }, i) => {
    if (!Number.isFinite(objective))
      throw new InvalidInputError(`variables[${i}].objective`, objective, 'a finite number')
    if (!(atLeast <= atMost))
      throw new InvalidInputError(`variables[${i}].atLeast`, atLeast, `a number up to ${atMost}`)
  })
  constraints.forEach(({ terms, atLeast, atMost }, i) => {
    if (Number.isNaN(atLeast) || Number.isNaN(atMost)) {
      throw new InvalidInputError(`constraints[${i}]`, Number.NaN, 'limits that are numbers')
    }
    const seen = new Set<number>()
    for (const [variable, coefficient] of terms) {
      if (variables[variable] === undefined || seen.has(variable)) {
        throw new InvalidInputError(
          `constraints[${i}].terms`,
          variable,
          `each of 0 to ${variables.length - 1} once at most`,
        )
      }
      if (!Number.isFinite(coefficient)) {
        throw new InvalidInputError(`constraints[${i}].terms`, coefficient, 'finite coefficients')
      }
      seen.add(variable)
    }
  })
}
