import type { Tenant } from '@pctodl/platform'
import type { PlannedRow } from './profile-plan.js'

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

export function identicalTenants(model: string, count: number, mpsPercent: number, batchSize: number): Tenant[] {
  return Array.from({ length: count }, () => ({ model, mpsPercent, batchSize }))
}

/** Rows that measure one network over a grid at one memory clock. The firmware chooses the SM clock. */
export function anchorSweep(
  model: string,
  memClockMhz: number | null,
  grid: readonly GridCells[] = anchorGrid,
): PlannedRow[] {
  return grid.flatMap(({ mpsPercent, tenantCounts, batchSizes }) =>
    tenantCounts.flatMap((count) =>
      batchSizes.map((batchSize) => ({
        sweep: 'anchor' as const,
        tenants: identicalTenants(model, count, mpsPercent, batchSize),
        smClockMhz: null,
        memClockMhz,
        repeat: 0,
      })),
    ),
  )
}
