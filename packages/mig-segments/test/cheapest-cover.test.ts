import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type CoverItem, cheapestCover } from '../src/fleet/cheapest-cover.js'

describe('the cheapest cover of a rate', () => {
  it('is the least price, by trying every number of each item', () => {
    const items = fc.array(
      fc.record({ ratePerS: fc.integer({ min: 5, max: 60 }), price: fc.integer({ min: 1, max: 7 }) }),
      {
        minLength: 1,
        maxLength: 4,
      },
    )
    const tried = ([item, ...others]: readonly CoverItem[], left: number): number => {
      if (left <= 0) return 0
      if (!item) return Number.POSITIVE_INFINITY
      const counts = Array.from({ length: Math.ceil(left / item.ratePerS) + 1 }, (_, count) => count)
      return Math.min(...counts.map((count) => count * item.price + tried(others, left - count * item.ratePerS)))
    }
    fc.assert(
      fc.property(items, fc.integer({ min: 1, max: 250 }), (of, rate) => {
        expect(cheapestCover(of, rate)).toBe(tried(of, rate))
      }),
      { numRuns: 200 },
    )
    expect(cheapestCover([], 10)).toBe(Number.POSITIVE_INFINITY)
  })

  it('is a bound where there are too many to try', () => {
    const items = Array.from({ length: 40 }, (_, i) => ({ ratePerS: 97 + 13 * i + (i % 3), price: 1 + i * 0.137 }))
    const least = Math.min(...items.map(({ ratePerS, price }) => price / ratePerS))
    expect(cheapestCover(items, 1e6)).toBeGreaterThanOrEqual(1e6 * least - 1e-6)
  })
})
