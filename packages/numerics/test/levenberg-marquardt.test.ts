import { type LeastSquaresProblem, levenbergMarquardt } from '@pctodl/numerics'
import { InvalidInputError } from '@pctodl/platform'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

/** 100 tanh((l ln b + e) / r^g) on 7 x 7 points, the form of the Python code's utilisation curve. */
const points = [5, 10, 15, 20, 25, 30, 40].flatMap((r) => [4, 8, 16, 24, 32, 64, 96].map((b) => ({ r, b })))
const curve = (l: number, e: number, g: number) =>
  points.map(({ r, b }) => 100 * Math.tanh((l * Math.log(b) + e) / r ** g))
const measured = curve(9, 14, 0.8)
const tanhProblem: LeastSquaresProblem = {
  parameterCount: 3,
  residualCount: points.length,
  residuals(p, out) {
    curve(p[0]!, p[1]!, p[2]!).forEach((value, i) => {
      out[i] = value - measured[i]!
    })
  },
}
const rmse = (cost: number) => Math.sqrt((2 * cost) / points.length)

describe('levenbergMarquardt', () => {
  it('recovers a saturating curve exactly', () => {
    const found = levenbergMarquardt(tanhProblem, [1, 1, 1], { lower: [0, 0, 0], upper: [100, 100, 3] })
    expect(found.converged).toBe(true)
    expect(found.parameters[0]).toBeCloseTo(9, 8)
    expect(found.parameters[1]).toBeCloseTo(14, 8)
    expect(found.parameters[2]).toBeCloseTo(0.8, 10)
    expect(found.activeBounds).toEqual([])
  })

  it('finds the true optimum on an active bound from every start, where clipping gets stuck', () => {
    // With the exponent fixed at its bound, an unconstrained problem of two parameters remains.
    const pinned = levenbergMarquardt(
      {
        parameterCount: 2,
        residualCount: points.length,
        residuals: (p, out) => tanhProblem.residuals(Float64Array.of(p[0]!, p[1]!, 1), out),
      },
      [10, 10],
    )
    expect(rmse(pinned.cost)).toBeGreaterThan(0.1)
    for (const start of [
      [1, 1, 1.2],
      [10, 10, 1.5],
      [20, 30, 1.01],
    ]) {
      const found = levenbergMarquardt(tanhProblem, start, { lower: [0, 0, 1], upper: [100, 100, 3] })
      expect(found.parameters[2]).toBe(1)
      expect(found.activeBounds).toEqual([2])
      expect(rmse(found.cost)).toBeCloseTo(rmse(pinned.cost), 8)
    }
  })

  it('satisfies the optimality conditions of any linear problem in a box', () => {
    const number = fc.double({ min: -3, max: 3, noNaN: true })
    fc.assert(
      fc.property(
        fc.array(fc.tuple(number, number, number, number), { minLength: 4, maxLength: 12 }),
        fc.array(fc.tuple(fc.double({ min: -1, max: 0, noNaN: true }), fc.double({ min: 0.01, max: 1, noNaN: true })), {
          minLength: 3,
          maxLength: 3,
        }),
        (rows, box) => {
          const residual = (p: ArrayLike<number>, row: readonly number[]) =>
            row[0]! * p[0]! + row[1]! * p[1]! + row[2]! * p[2]! - row[3]!
          const lower = box.map(([low]) => low)
          const upper = box.map(([low, width]) => low + width)
          const found = levenbergMarquardt(
            {
              parameterCount: 3,
              residualCount: rows.length,
              residuals: (p, out) => out.set(rows.map((row) => residual(p, row))),
              jacobian: (_p, _r, out) => out.set(rows.flatMap((row) => row.slice(0, 3))),
            },
            lower.map((low, j) => 0.5 * (low + upper[j]!)),
            { lower, upper, maxIterations: 500, costTolerance: 0 },
          )
          for (let j = 0; j < 3; j++) {
            const p = found.parameters
            const gradient = rows.reduce((sum, row) => sum + row[j]! * residual(p, row), 0)
            expect(p[j]).toBeGreaterThanOrEqual(lower[j]!)
            expect(p[j]).toBeLessThanOrEqual(upper[j]!)
            if (p[j]! > lower[j]!) expect(gradient).toBeLessThan(1e-4)
            if (p[j]! < upper[j]!) expect(gradient).toBeGreaterThan(-1e-4)
          }
        },
      ),
      { numRuns: 200 },
    )
  })

  it("is not led astray by an outlier under Huber's loss", () => {
    const values = [1, 1.1, 0.9, 1.05, 0.95, 50]
    const mean: LeastSquaresProblem = {
      parameterCount: 1,
      residualCount: values.length,
      residuals: (p, out) => out.set(values.map((value) => p[0]! - value)),
    }
    expect(levenbergMarquardt(mean, [0]).parameters[0]).toBeCloseTo(55 / 6, 6)
    // At the minimum, five residuals of at most 0.1 balance one outlier, whose influence Huber's loss limits to 0.2.
    expect(levenbergMarquardt(mean, [0], { huber: 0.2 }).parameters[0]).toBeCloseTo(1.04, 6)
  })

  it('refuses a start outside the box or without finite residuals', () => {
    expect(() => levenbergMarquardt(tanhProblem, [1, 1, 0.5], { lower: [0, 0, 1] })).toThrowError('start[2]')
    expect(() => levenbergMarquardt(tanhProblem, [1, 1])).toThrowError(InvalidInputError)
    expect(() => levenbergMarquardt(tanhProblem, [Number.NaN, 1, 1])).toThrowError('start[0]')
    const broken: LeastSquaresProblem = {
      parameterCount: 1,
      residualCount: 1,
      residuals: (_p, out) => out.fill(Number.NaN),
    }
    expect(() => levenbergMarquardt(broken, [1])).toThrowError('finite residuals')
  })
})
