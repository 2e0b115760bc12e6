import type { Tenant } from '@pctodl/platform'

/** Identical tenants with one share: each number of tenants is measured with each batch size. */
export interface GridCells {
  readonly mpsPercent: number
  readonly tenantCounts: readonly number[]
  readonly batchSizes: readonly number[]
}

const upTo48 = [4, 8, 16, 24, 32, 48]
const upTo128 = [4, 8, 16, 24, 32, 64, 96, 128]
const upTo160 = [...upTo128, 160]
const upTo256 = [...upTo160, 192, 256]

/** The grid of the profiles that PctoDL published (its stress mode): 263 configurations per network. */
export const anchorGrid: readonly GridCells[] = [
  { mpsPercent: 5, tenantCounts: [1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20], batchSizes: [4, 8, 16, 24] },
  { mpsPercent: 10, tenantCounts: [1, 2, 4, 6, 8, 10], batchSizes: upTo48 },
  { mpsPercent: 15, tenantCounts: [1, 2, 3, 4, 5, 6], batchSizes: [4, 8, 16, 24, 32, 64] },
  { mpsPercent: 20, tenantCounts: [1, 2, 3, 4, 5], batchSizes: upTo128 },
  { mpsPercent: 25, tenantCounts: [1, 2, 3, 4], batchSizes: upTo160 },
  { mpsPercent: 30, tenantCounts: [1, 2, 3], batchSizes: upTo160 },
  { mpsPercent: 35, tenantCounts: [1, 2], batchSizes: upTo256 },
  { mpsPercent: 40, tenantCounts: [1, 2], batchSizes: upTo256 },
]

/** The grid whose throughput and power PctoDL's published profiles measure along the SM clock. */
export const clocksGrid: readonly GridCells[] = [
  { mpsPercent: 25, tenantCounts: [4], batchSizes: [8, 16, 32] },
  { mpsPercent: 50, tenantCounts: [2], batchSizes: [8, 16, 32] },
  { mpsPercent: 10, tenantCounts: [10], batchSizes: [8, 16, 32] },
]

/** The tenants of each configuration of a grid. */
export function tenantsOfGrid(model: string, grid: readonly GridCells[]): Tenant[][] {
  return grid.flatMap(({ mpsPercent, tenantCounts, batchSizes }) =>
    tenantCounts.flatMap((count) =>
      batchSizes.map((batchSize) => Array.from({ length: count }, () => ({ model, mpsPercent, batchSize }))),
    ),
  )
}
