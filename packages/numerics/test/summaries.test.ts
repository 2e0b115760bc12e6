import {
  conformalQuantile,
  mean,
  median,
  populationDeviation,
  quantile,
  quantileOfSorted,
  sampleVariance,
  sum,
  upperMedian,
} from '@pctodl/numerics'
import { InvalidInputError } from '@pctodl/platform'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

const finite = fc.double({ min: -1e6, max: 1e6, noNaN: true })
const values = fc.array(finite, { minLength: 1, maxLength: 40 })

describe('means', () => {
  it('sum from first to last, so that figures keep their last digit', () => {
    expect(sum([0.1, 0.2, 0.3])).toBe(0.1 + 0.2 + 0.3)
    expect(sum([0.1, 0.2, 0.3])).not.toBe(0.1 + (0.2 + 0.3))
    expect(sum([])).toBe(0)
    expect(mean([])).toBeNaN()
    expect(mean(Float64Array.of(1, 2, 6))).toBe(3)
  })

  it('vary as the textbook says: 2, 4, 4, 4, 5, 5, 7, 9', () => {
    const example = [2, 4, 4, 4, 5, 5, 7, 9]
    expect(mean(example)).toBe(5)
    expect(populationDeviation(example)).toBe(2)
    expect(sampleVariance(example)).toBeCloseTo(32 / 7, 14)
    expect(sampleVariance([3])).toBeNaN()
  })

  it('move with the values, and their spread with the scale', () => {
    fc.assert(
      fc.property(
        fc.array(finite, { minLength: 2, maxLength: 30 }),
        fc.integer({ min: -8, max: 8 }),
        (sample, shift) => {
          const moved = sample.map((value) => 2 * value + shift)
          expect(mean(moved)).toBeCloseTo(2 * mean(sample) + shift, 5)
          expect(populationDeviation(moved)).toBeCloseTo(2 * populationDeviation(sample), 4)
        },
      ),
    )
  })
})

describe('quantiles', () => {
  it('lie within the values and rise with q', () => {
    fc.assert(
      fc.property(values, (sample) => {
        // Adding 0 turns a negative zero into a positive one, because the two are equal values.
        const quantiles = [0, 0.25, 0.5, 0.75, 1].map((q) => quantile(sample, q) + 0)
        expect(quantiles[0]).toBe(Math.min(...sample) + 0)
        expect(quantiles[4]).toBe(Math.max(...sample) + 0)
        for (let i = 1; i < 5; i++) expect(quantiles[i]).toBeGreaterThanOrEqual(quantiles[i - 1]!)
      }),
    )
  })

  it('interpolate between order statistics, whatever the order they come in', () => {
    expect(quantile([40, 10, 30, 20], 0.5)).toBe(25)
    expect(quantile([40, 10, 30, 20], 0.25)).toBe(17.5)
    expect(quantileOfSorted([10, 20, 30, 40], 0.9)).toBeCloseTo(37, 12)
    // Values sort as numbers, not as words: 9 comes before 10.
    expect(quantile([10, 9], 0)).toBe(9)
    expect(quantile([Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY], 0.5)).toBe(Number.POSITIVE_INFINITY)
  })

  it('of nothing, or beyond the values, are refused', () => {
    expect(() => quantile([], 0.5)).toThrowError(InvalidInputError)
    expect(() => quantile([1], 50)).toThrowError('q: got 50')
  })

  it('take the middle, the mean of two or the upper of two', () => {
    expect([median([3, 1, 2]), median([4, 1, 2, 3]), median([])]).toEqual([2, 2.5, Number.NaN])
    expect([upperMedian([3, 1, 2]), upperMedian([4, 1, 2, 3]), upperMedian([])]).toEqual([2, 3, Number.NaN])
    fc.assert(fc.property(values, (sample) => sample.includes(upperMedian(sample))))
  })

  it('hold a further value as often as was asked, whatever the distribution', () => {
    // Any of n + 1 exchangeable values is equally likely to be the further one. Leave each out in turn and count.
    fc.assert(
      fc.property(
        fc.uniqueArray(finite, { minLength: 3, maxLength: 25 }),
        fc.double({ min: 0.1, max: 0.9, noNaN: true }),
        (sample, level) => {
          const rank = Math.ceil(level * sample.length)
          const held = sample.filter((value, i) => {
            const others = sample.filter((_, j) => j !== i).sort((a, b) => a - b)
            return value <= conformalQuantile(others, level)
          })
          expect(held.length).toBeGreaterThanOrEqual(Math.min(rank, sample.length - 1))
          expect(held.length).toBeLessThanOrEqual(rank)
        },
      ),
    )
  })
})
