import { makeNonDecreasing, nearestMonotoneGrid } from '@pctodl/numerics'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

const finite = fc.double({ min: -1e3, max: 1e3, noNaN: true })

describe('the nearest line that does not fall', () => {
  it('shares the mean of neighbours in the wrong order', () => {
    const values = Float64Array.of(1, 3, 2, 4, 3, 3)
    makeNonDecreasing(values)
    expect([...values]).toEqual([1, 2.5, 2.5, 10 / 3, 10 / 3, 10 / 3])
  })

  it('is max over beginnings of min over ends of the means between (the formula of min and max)', () => {
    fc.assert(
      fc.property(fc.array(finite, { minLength: 1, maxLength: 12 }), (measured) => {
        const line = Float64Array.from(measured)
        makeNonDecreasing(line)
        measured.forEach((_, i) => {
          let largest = Number.NEGATIVE_INFINITY
          for (let from = 0; from <= i; from++) {
            let smallest = Number.POSITIVE_INFINITY
            for (let to = i; to < measured.length; to++) {
              const part = measured.slice(from, to + 1)
              smallest = Math.min(smallest, part.reduce((a, b) => a + b, 0) / part.length)
            }
            largest = Math.max(largest, smallest)
          }
          expect(line[i]).toBeCloseTo(largest, 8)
        })
      }),
    )
  })
})

describe('the nearest grid that falls along neither axis', () => {
  it('is monotone, leaves a monotone grid alone and is nearer than any monotone grid beside it', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 4 }),
        fc.array(finite, { minLength: 16, maxLength: 16 }),
        fc.array(fc.double({ min: 0, max: 5, noNaN: true }), { minLength: 16, maxLength: 16 }),
        (rows, columns, numbers, steps) => {
          const grid = Float64Array.from(numbers.slice(0, rows * columns))
          const nearest = nearestMonotoneGrid(grid, rows, columns)
          const at = (r: number, c: number) => nearest[r * columns + c]!
          const other = new Float64Array(nearest.length)
          for (let r = 0; r < rows; r++)
            for (let c = 0; c < columns; c++) {
              if (r > 0) expect(at(r, c)).toBeGreaterThanOrEqual(at(r - 1, c))
              if (c > 0) expect(at(r, c)).toBeGreaterThanOrEqual(at(r, c - 1))
              const above = r > 0 ? other[(r - 1) * columns + c]! : -1e3
              const left = c > 0 ? other[r * columns + c - 1]! : -1e3
              other[r * columns + c] = Math.max(above, left) + 100 * steps[r * columns + c]!
            }
          const distance = (to: ArrayLike<number>) => grid.reduce((sum, value, i) => sum + (value - to[i]!) ** 2, 0)
          expect(distance(nearest)).toBeLessThanOrEqual(distance(other) + 1e-3)
          const again = nearestMonotoneGrid(nearest, rows, columns)
          again.forEach((value, i) => {
            expect(value).toBeCloseTo(nearest[i]!, 6)
          })
        },
      ),
    )
  })
})
