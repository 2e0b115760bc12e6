import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SeededRandom } from '../src/index.js'
import { pivotedCholesky } from '../src/pivoted-cholesky.js'

/** Gram matrix of n random points in `rank` dimensions, so its rank is at most `rank`. */
function gram(n: number, rank: number, seed: number): Float64Array {
  const random = new SeededRandom(seed)
  const points = Array.from({ length: n }, () => Array.from({ length: rank }, () => random.uniform() - 0.5))
  return Float64Array.from({ length: n * n }, (_, at) => {
    const [a, b] = [points[Math.floor(at / n)]!, points[at % n]!]
    return a.reduce((sum, value, k) => sum + value * b[k]!, 0)
  })
}

function factorOf(matrix: Float64Array, n: number, most: number) {
  const diagonal = Float64Array.from({ length: n }, (_, i) => matrix[i * n + i]!)
  const column = (index: number, out: Float64Array) => {
    for (let i = 0; i < n; i++) out[i] = matrix[i * n + index]!
  }
  return pivotedCholesky(diagonal, column, most, 1e-12)
}

describe('the pivoted Cholesky factor', () => {
  it('gives the matrix back, at no greater rank than it has', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 12 }), fc.integer(), (n, rank, seed) => {
        const matrix = gram(n, rank, Math.abs(seed))
        const { factor, rank: found } = factorOf(matrix, n, n)
        expect(found).toBeLessThanOrEqual(Math.min(n, rank))
        for (let i = 0; i < n; i++) {
          for (let j = 0; j < n; j++) {
            let sum = 0
            for (let k = 0; k < found; k++) sum += factor[i * found + k]! * factor[j * found + k]!
            expect(sum).toBeCloseTo(matrix[i * n + j]!, 6)
          }
        }
      }),
      { numRuns: 60 },
    )
  })

  it('cut short says how much of each diagonal element it leaves out, and nothing of its pivots', () => {
    const n = 20
    const matrix = gram(n, 20, 5)
    const { factor, rank, residual, pivots } = factorOf(matrix, n, 6)
    expect(rank).toBe(6)
    for (let i = 0; i < n; i++) {
      let sum = 0
      for (let k = 0; k < rank; k++) sum += factor[i * rank + k]! ** 2
      expect(sum + residual[i]!).toBeCloseTo(matrix[i * n + i]!, 9)
    }
    for (const pivot of pivots) expect(residual[pivot]).toBe(0)
  })
})
