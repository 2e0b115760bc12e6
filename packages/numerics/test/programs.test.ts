import { type LinearProgram, loadSolver, type SolverError, type Term } from '@pctodl/numerics/programs'
import { InvalidInputError } from '@pctodl/platform'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { certify } from '../src/programs/certify.js'

const solver = await loadSolver()
const whole = fc.integer({ min: 0, max: 9 })

/** A knapsack problem: choose items with a value and a weight, each at most once, within a total weight. */
function knapsack(items: readonly (readonly [value: number, weight: number])[], room: number): LinearProgram {
  return {
    sense: 'maximize',
    variables: items.map(([value]) => ({ objective: value, atMost: 1, whole: true })),
    constraints: [{ terms: items.map(([, weight], i): Term => [i, weight]), atMost: room }],
  }
}

/**
 * Knapsacks whose items have values equal to their even weights, and an odd capacity. Branch and bound cannot finish
 * them.
 */
function hopeless(items: number): LinearProgram {
  const weights = Array.from({ length: items }, (_, i) => 2 * (1000 + ((i * 7919) % 997)))
  return knapsack(
    weights.map((weight) => [weight, weight] as const),
    2 * Math.floor(weights.reduce((a, b) => a + b, 0) / 4) + 1,
  )
}

describe('a linear program', () => {
  it('has the answer of its dual: the price of every limit times the limit', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 3, maxLength: 3 }), {
          minLength: 1,
          maxLength: 5,
        }),
        fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 5, maxLength: 5 }),
        fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 3, maxLength: 3 }),
        (rows, limits, worth) => {
          const primal = solver.solve({
            sense: 'maximize',
            variables: worth.map((objective) => ({ objective })),
            constraints: rows.map((row, i) => ({ terms: row.map((value, j): Term => [j, value]), atMost: limits[i]! })),
          })
          const dual = solver.solve({
            sense: 'minimize',
            variables: rows.map((_, i) => ({ objective: limits[i]! })),
            constraints: worth.map((least, j) => ({ terms: rows.map((row, i): Term => [i, row[j]!]), atLeast: least })),
          })
          expect(primal.status).toBe('optimal')
          expect(primal.objective).toBeCloseTo(dual.objective, 6)
          expect(primal.bound).toBe(primal.objective)
        },
      ),
      { numRuns: 40 },
    )
  })

  it('says what it is where it has no answer', () => {
    const x = { objective: 1 }
    const infeasible = solver.solve({
      sense: 'minimize',
      variables: [x],
      constraints: [{ terms: [[0, 1]], atMost: -1 }],
    })
    expect(infeasible).toMatchObject({ status: 'infeasible', values: null })
    const unbounded = solver.solve({
      sense: 'maximize',
      variables: [x],
      constraints: [{ terms: [[0, 1]], atLeast: 1 }],
    })
    expect(unbounded).toMatchObject({ status: 'unbounded', bound: Number.POSITIVE_INFINITY })
    expect(solver.solve({ sense: 'minimize', variables: [], constraints: [] })).toMatchObject({
      status: 'optimal',
      objective: 0,
    })
    expect(solver.solve({ sense: 'minimize', variables: [], constraints: [{ terms: [], atLeast: 1 }] }).status).toBe(
      'infeasible',
    )
  })
})

describe('an integer program', () => {
  it('has the best of all subsets', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(whole, whole), { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 0, max: 30 }),
        (items, room) => {
          let best = 0
          for (let subset = 0; subset < 2 ** items.length; subset++) {
            const chosen = items.filter((_, i) => (subset >> i) & 1)
            const weight = chosen.reduce((sum, [, each]) => sum + each, 0)
            if (weight <= room)
              best = Math.max(
                best,
                chosen.reduce((sum, [value]) => sum + value, 0),
              )
          }
          const { status, objective, bound, values } = solver.solve(knapsack(items, room))
          expect(status).toBe('optimal')
          expect(objective).toBe(best)
          expect(bound).toBeGreaterThanOrEqual(best - 1e-6)
          expect(bound).toBeLessThan(best + 1)
          expect(Array.from(values!).every((value) => value === 0 || value === 1)).toBe(true)
        },
      ),
      { numRuns: 60 },
    )
  })

  it('ends when the work runs out, the same each time, with a bound that holds', () => {
    const program = hopeless(60)
    const run = () => solver.solve(program, { maxIterations: 200 })
    const first = run()
    expect(first.status).toBe('limited')
    expect(first.bound).toBeGreaterThanOrEqual(first.objective)
    expect(first.bound).toBeLessThanOrEqual(program.variables.reduce((sum, { objective }) => sum + objective, 0))
    expect(run()).toEqual(first)
  })
})

describe('what is no program, or no answer, is refused', () => {
  it.each([
    ['a coefficient', { terms: [[0, Number.NaN]] as Term[] }, 'finite coefficients'],
    ['a variable', { terms: [[7, 1]] as Term[] }, '0 to 0 once at most'],
    [
      'a variable twice',
      {
        terms: [
          [0, 1],
          [0, 1],
        ] as Term[],
      },
      '0 to 0 once at most',
    ],
    ['a limit', { terms: [[0, 1]] as Term[], atMost: Number.NaN }, 'limits that are numbers'],
  ])('%s', (_, constraint, message) => {
    const program: LinearProgram = { sense: 'minimize', variables: [{ objective: 1 }], constraints: [constraint] }
    expect(() => solver.solve(program)).toThrowError(InvalidInputError)
    expect(() => solver.solve(program)).toThrowError(message)
  })

  it('an answer that does not keep the program', () => {
    const program = knapsack(
      [
        [1, 5],
        [1, 6],
      ],
      10,
    )
    expect(certify(program, Float64Array.of(1, 1e-9), 1e-6)).toBe(1)
    for (const [values, message] of [
      [[1, 1], 'constraint 0 came out as 11'],
      [[0.5, 0], 'variable 0 came back as 0.5, not whole'],
      [[2, 0], 'variable 0 came back as 2, outside 0 to 1'],
    ] as const) {
      expect(() => certify(program, Float64Array.from(values), 1e-6)).toThrowError(
        expect.objectContaining({ code: 'SOLVER_FAILED', message: expect.stringContaining(message) }) as SolverError,
      )
    }
  })
})
