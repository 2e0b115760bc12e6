import { InvalidInputError } from '@pctodl/platform'

/** Make the objective least or most over variables within their bounds, with every constraint kept. */
export interface LinearProgram {
  readonly sense: 'minimize' | 'maximize'
  readonly variables: readonly Variable[]
  readonly constraints: readonly LinearConstraint[]
}

export interface Variable {
  /** What one unit adds to the objective. */
  readonly objective: number
  /** Default 0. */
  readonly atLeast?: number
  /** Default: no limit. */
  readonly atMost?: number
  /** Only whole numbers will do. */
  readonly whole?: boolean
}

export type Term = readonly [variable: number, coefficient: number]

/** `atLeast <= sum of coefficient x variable <= atMost`; an absent side is open. Equal sides make an equation. */
export interface LinearConstraint {
  /** Each variable once at most, by its place in `variables`. */
  readonly terms: readonly Term[]
  readonly atLeast?: number
  readonly atMost?: number
}

/** @throws InvalidInputError naming the place */
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
