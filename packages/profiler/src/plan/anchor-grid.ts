import type { Tenant } from '@pctodl/platform'

/** Identical tenants with one share: each number of tenants is measured with each batch size. */
export interface GridCells {
  readonly mpsPercent: number
  readonly tenantCounts: readonly number[]
  readonly batchSizes: readonly number[]
}

const batchLadder = [4, 8, 16, 24, 32, 64, 96, 128, 160, 192, 256]
const upTo = (largest: number) => batchLadder.filter((batchSize) => batchSize <= largest)

/** The grid of the profiles that PctoDL published (its stress mode): 263 configurations per network. */
export const anchorGrid: readonly GridCells[] = [
  { mpsPercent: 5, tenantCounts: [1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20], batchSizes: upTo(24) },
  { mpsPercent: 10, tenantCounts: [1, 2, 4, 6, 8, 10], batchSizes: [...upTo(32), 48] },
  { mpsPercent: 15, tenantCounts: [1, 2, 3, 4, 5, 6], batchSizes: upTo(64) },
  { mpsPercent: 20, tenantCounts: [1, 2, 3, 4, 5], batchSizes: upTo(128) },
  { mpsPercent: 25, tenantCounts: [1, 2, 3, 4], batchSizes: upTo(160) },
  { mpsPercent: 30, tenantCounts: [1, 2, 3], batchSizes: upTo(160) },
  { mpsPercent: 35, tenantCounts: [1, 2], batchSizes: upTo(256) },
  { mpsPercent: 40, tenantCounts: [1, 2], batchSizes: upTo(256) },
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
