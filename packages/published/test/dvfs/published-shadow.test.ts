import type { Tenant } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import {
  allowedBatches,
  batchNeighbours,
  batchPool,
  mergeSmallest,
  publishedThreshold,
  shareMoves,
  splitLargest,
} from '../../src/dvfs/published-shadow.js'

const tenantsOf = (shares: readonly number[], batches: readonly number[] = shares.map(() => 32)): Tenant[] =>
  shares.map((mpsPercent, i) => ({ model: 'resnet50', mpsPercent, batchSize: batches[i]! }))
const sharesOf = (tenants: readonly Tenant[] | undefined) => tenants?.map(({ mpsPercent }) => mpsPercent)

describe('golden vectors of the published shadow optimizer', () => {
  it.each([
    [0, -0.1],
    [3, -0.0994],
    [50, -0.09],
    [150, -0.07],
    [499, -0.0002],
    [500, 0],
    [750, 0.012642],
    [1000, 0.017293],
    [1500, 0.019634],
  ])('threshold after %d updates', (updates, threshold) => {
    expect(publishedThreshold(updates)).toBeCloseTo(threshold, 6)
  })

  it('share moves, merge and split', () => {
    expect(new Set(shareMoves([50, 30, 20], 5).map(String))).toEqual(
      new Set(['50,30,20', '55,25,20', '45,35,20', '55,30,15', '45,30,25']),
    )
    expect(shareMoves([40, 40], 5).map(String)).toEqual(expect.arrayContaining(['40,40', '35,65', '65,35']))
    expect(sharesOf(mergeSmallest(tenantsOf([25, 25, 25, 25])))).toEqual([50, 25, 25])
    expect(sharesOf(splitLargest(tenantsOf([25, 25, 25, 25]), 5))).toEqual([10, 25, 25, 25, 15])
  })

  it('batches', () => {
    expect([...batchPool.slice(0, 5), batchPool.at(-1)]).toEqual([1, 2, 4, 8, 12, 256])
    expect(allowedBatches(10)).toEqual(Array.from({ length: 15 }, (_, i) => 8 + 4 * i))
    expect(allowedBatches(50)).toEqual(Array.from({ length: 55 }, (_, i) => 40 + 4 * i))
    const neighbours = batchNeighbours(tenantsOf([50, 50], [32, 40]), 3).map(String)
    expect(neighbours.sort()).toEqual(['32,40', '32,44', '32,48', '32,52', '40,40', '44,40', '48,40'])
  })
})
