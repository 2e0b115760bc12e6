import { SeededRandom } from '@pctodl/numerics'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fitBoostedTrees, treesAt } from '../src/math/boosted-trees.js'

const OPTIONS = { trees: 200, rate: 0.1 }

function drawn(rows: number, columns: number, seed: number): Float64Array {
  const random = new SeededRandom(seed)
  return Float64Array.from({ length: rows * columns }, () => random.uniform())
}

describe('boosted trees', () => {
  it('learn what two columns do only together', () => {
    const law = (row: ArrayLike<number>) => (row[0]! > 0.5 && row[2]! > 0.3 ? 2 : row[1]! > 0.7 ? 1 : 0)
    const matrix = drawn(400, 3, 1)
    const rows = Array.from({ length: 400 }, (_, i) => matrix.subarray(3 * i, 3 * i + 3))
    const trees = fitBoostedTrees(matrix, 3, Float64Array.from(rows, law), new Float64Array(400).fill(1), OPTIONS)
    const fresh = drawn(200, 3, 2)
    const errors = Array.from({ length: 200 }, (_, i) => {
      const row = fresh.subarray(3 * i, 3 * i + 3)
      return Math.abs(treesAt(trees, row) - law(row))
    })
    expect(errors.reduce((sum, error) => sum + error, 0) / 200).toBeLessThan(0.1)
    const restored = JSON.parse(JSON.stringify(trees))
    expect(treesAt(restored, fresh.subarray(0, 3))).toBe(treesAt(trees, fresh.subarray(0, 3)))
  })

  it('stay within the targets, and give the mean where no column varies', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: -5, max: 5, noNaN: true }), { minLength: 2, maxLength: 40 }), (targets) => {
        const matrix = drawn(targets.length, 2, 7)
        const weights = new Float64Array(targets.length).fill(1)
        const trees = fitBoostedTrees(matrix, 2, Float64Array.from(targets), weights, { trees: 20, rate: 0.3 })
        for (let i = 0; i < targets.length; i++) {
          const said = treesAt(trees, matrix.subarray(2 * i, 2 * i + 2))
          expect(said).toBeGreaterThanOrEqual(Math.min(...targets) - 1e-9)
          expect(said).toBeLessThanOrEqual(Math.max(...targets) + 1e-9)
        }
        const flat = fitBoostedTrees(
          matrix.map(() => 1),
          2,
          Float64Array.from(targets),
          weights,
          OPTIONS,
        )
        expect(treesAt(flat, [1, 1])).toBeCloseTo(targets.reduce((sum, value) => sum + value, 0) / targets.length, 9)
      }),
      { numRuns: 30 },
    )
  })

  it('count a row of weight two as two rows', () => {
    const matrix = drawn(30, 2, 3)
    const targets = drawn(30, 1, 4)
    const twice = new Float64Array(62)
    twice.set(matrix)
    twice.set(matrix.subarray(0, 2), 60)
    const weights = new Float64Array(30).fill(1)
    weights[0] = 2
    const options = { trees: 10, rate: 0.2 }
    const weighted = fitBoostedTrees(matrix, 2, targets, weights, options)
    const repeated = fitBoostedTrees(
      twice,
      2,
      Float64Array.from([...targets, targets[0]!]),
      new Float64Array(31).fill(1),
      options,
    )
    for (let i = 0; i < 30; i++) {
      const row = matrix.subarray(2 * i, 2 * i + 2)
      expect(treesAt(weighted, row)).toBeCloseTo(treesAt(repeated, row), 9)
    }
  })
})
