import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CORRECTION_NODES, correctionGrid } from '../src/correction-grid.js'
import { correctionNodesOf } from '../src/corrections.js'
import { makeMonotone } from '../src/fit/monotone-grid.js'

const SHARES = correctionGrid.mpsPercent.length
const PER_SHARE = CORRECTION_NODES / SHARES

describe('correctionNodesOf', () => {
  it('gives weights that are not negative and sum to 1', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 1, max: 100, noNaN: true }),
        fc.integer({ min: 1, max: 256 }),
        fc.integer({ min: 1, max: 48 }),
        (mpsPercent, batchSize, tenants) => {
          const nodes = correctionNodesOf(mpsPercent, batchSize, tenants)
          for (const { index, weight } of nodes) {
            expect(weight).toBeGreaterThan(0)
            expect(index).toBeLessThan(CORRECTION_NODES)
          }
          expect(nodes.reduce((sum, { weight }) => sum + weight, 0)).toBeCloseTo(1, 12)
        },
      ),
    )
  })
})

describe('makeMonotone', () => {
  const grids = fc.array(fc.array(fc.double({ min: -0.3, max: 0.3, noNaN: true }), arrayOf(CORRECTION_NODES)), {
    minLength: 1,
    maxLength: 3,
  })

  it('leaves nothing that falls along the share or rises as the memory clock falls', () => {
    fc.assert(
      fc.property(grids, (list) => {
        makeMonotone(list)
        list.forEach((grid, m) => {
          for (let i = PER_SHARE; i < CORRECTION_NODES; i++) {
            expect(grid[i]).toBeGreaterThanOrEqual(grid[i - PER_SHARE]!)
          }
          if (m > 0) grid.forEach((value, i) => void expect(value).toBeLessThanOrEqual(list[m - 1]![i]!))
        })
      }),
      { numRuns: 20 },
    )
  })

  it('changes nothing that is in order', () => {
    const rising = Array.from({ length: CORRECTION_NODES }, (_, i) => 0.01 * Math.floor(i / PER_SHARE))
    const list = [rising.map((value) => value + 0.05), [...rising]]
    const before = structuredClone(list)
    makeMonotone(list)
    expect(list).toEqual(before)
  })
})

function arrayOf(length: number) {
  return { minLength: length, maxLength: length }
}
