import { SeededRandom } from '@pctodl/numerics'
import { describe, expect, it } from 'vitest'
import { ShareKnapsack } from '../src/bound/share-knapsack.js'

const UNITS = 7

/** What so many tenants are worth at most, by trying all ways to use at most so many units. */
function most(value: Float64Array, tenants: number, units: number): number {
  if (tenants === 0) return 0
  let best = Number.NEGATIVE_INFINITY
  for (let own = 1; own <= units; own++) best = Math.max(best, value[own]! + most(value, tenants - 1, units - own))
  return best
}

describe('the best way to share a board', () => {
  it('is that of all ways, whatever was shared before, and is told by the shares chosen', () => {
    const random = new SeededRandom(3)
    const knapsack = new ShareKnapsack(UNITS, UNITS)
    for (let run = 0; run < 60; run++) {
      // What a tenant is worth may fall with its share, and some shares nobody has.
      const value = Float64Array.from({ length: UNITS + 1 }, () =>
        random.uniform() < 0.3 ? Number.NEGATIVE_INFINITY : 4 * random.uniform() - 2,
      )
      const tenants = 1 + random.integer(UNITS)
      const found = knapsack.solve(value, tenants)
      const wanted = most(value, tenants, UNITS)
      if (wanted === Number.NEGATIVE_INFINITY) expect(found).toBe(wanted)
      else {
        expect(found).toBeCloseTo(wanted, 12)
        const shares = [...knapsack.chosen.slice(0, tenants)]
        expect(shares.reduce((sum, units) => sum + value[units]!, 0)).toBeCloseTo(wanted, 12)
        expect(shares.reduce((sum, units) => sum + units, 0)).toBeLessThanOrEqual(UNITS)
        expect(Math.min(...shares)).toBeGreaterThan(0)
      }
    }
  })
})
