import { factorise, inverseFromFactor, leastSquares, SeededRandom, solveFactorised } from '@pctodl/numerics'
import { InvalidInputError } from '@pctodl/platform'
import fc from 'fast-check'
import { CholeskyDecomposition, inverse, Matrix, solve } from 'ml-matrix'
import { describe, expect, it } from 'vitest'
import { solveLower } from '../src/cholesky.js'

const size = fc.integer({ min: 1, max: 12 })
const seed = fc.integer({ min: 0, max: 1e6 })

/** B B' + I: symmetric, positive definite, and far from singular. */
function positiveDefinite(random: SeededRandom, n: number): Float64Array {
  const b = Array.from({ length: n }, () => Array.from({ length: n }, () => random.normal()))
  return Float64Array.from({ length: n * n }, (_, at) => {
    const [i, j] = [Math.floor(at / n), at % n]
    return b[i]!.reduce((sum, value, k) => sum + value * b[j]![k]!, i === j ? 1 : 0)
  })
}

const largestDifference = (a: ArrayLike<number>, b: ArrayLike<number>) =>
  Math.max(...Array.from(a, (value, i) => Math.abs(value - b[i]!)))

describe("Cholesky's factor", () => {
  it('is that of ml-matrix, solves and inverts', () => {
    fc.assert(
      fc.property(size, seed, (n, start) => {
        const random = new SeededRandom(start)
        const matrix = positiveDefinite(random, n)
        const full = Matrix.from1DArray(n, n, matrix)
        const factor = Float64Array.from(matrix)
        factorise(factor, n)
        const theirs = new CholeskyDecomposition(full).lowerTriangularMatrix
        for (let i = 0; i < n; i++)
          for (let j = 0; j <= i; j++) expect(factor[i * n + j]).toBeCloseTo(theirs.get(i, j), 9)
        const right = Float64Array.from({ length: n }, () => random.normal())
        const x = Float64Array.from(right)
        solveFactorised(factor, n, x)
        expect(largestDifference(full.mmul(Matrix.columnVector(x)).to1DArray(), right)).toBeLessThan(1e-8)
        expect(largestDifference(inverseFromFactor(factor, n), inverse(full).to1DArray())).toBeLessThan(1e-8)
        const y = Float64Array.from(right)
        solveLower(factor, n, y)
        expect(largestDifference(theirs.mmul(Matrix.columnVector(y)).to1DArray(), right)).toBeLessThan(1e-8)
      }),
    )
  })

  it('refuses a matrix that is not positive definite, unless its pivots have a floor', () => {
    expect(() => factorise(Float64Array.of(1, 2, 2, 1), 2)).toThrowError(InvalidInputError)
    expect(() => factorise(Float64Array.of(1, 2, 2, 1), 2)).toThrowError('pivot -3 in row 1')
    expect(() => factorise(Float64Array.of(Number.NaN), 1)).toThrowError(InvalidInputError)
    const matrix = Float64Array.of(1, 99, 1, 1)
    factorise(matrix, 2, [0, 1e-18])
    expect([...matrix]).toEqual([1, 99, 1, 1e-9])
  })
})

describe('least squares', () => {
  it('are those of ml-matrix, with residuals square to every column', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 0, max: 10 }), seed, (columns, more, start) => {
        const random = new SeededRandom(start)
        const design = Array.from({ length: columns + more }, () =>
          Array.from({ length: columns }, () => random.normal()),
        )
        const target = design.map(() => random.normal())
        // Columns that are nearly dependent leave no digits to compare.
        fc.pre(new Matrix(design).transpose().mmul(new Matrix(design)).get(0, 0) > 1e-3)
        const x = leastSquares(design, target)
        for (let j = 0; j < columns; j++) {
          const product = design.reduce(
            (sum, row, i) => sum + row[j]! * (target[i]! - row.reduce((all, value, k) => all + value * x[k]!, 0)),
            0,
          )
          expect(Math.abs(product)).toBeLessThan(1e-7 * Math.max(1, ...Array.from(x, Math.abs)))
        }
        if (columns === 1 || more > 2) {
          const theirs = solve(new Matrix(design), Matrix.columnVector(target)).to1DArray()
          expect(largestDifference(x, theirs)).toBeLessThan(1e-6 * Math.max(1, ...theirs.map(Math.abs)))
        }
      }),
    )
  })

  it('go through points that lie on the curve, and refuse what decides nothing', () => {
    const x = leastSquares(
      [0, 1, 2, 3].map((at) => [1, at, at * at]),
      [5, 6, 9, 14],
    )
    expect([...x].map((value) => value.toFixed(9))).toEqual(['5.000000000', '0.000000000', '1.000000000'])
    expect(() => leastSquares([[1, 2]], [1])).toThrowError('observations')
    expect(() =>
      leastSquares(
        [
          [1, 2],
          [2, 4],
          [3, 6],
        ],
        [1, 2, 3],
      ),
    ).toThrowError('column 1')
  })
})
