import type { Tenant } from '@pctodl/platform'

/**
 * Lists of shares that the published shadow optimizer tries, in its order. The first is the present list. Then each
 * share is moved one step up and one step down, and the largest other share is changed so that the sum is 100 %. Moves
 * that would leave a share below one step are omitted.
 */
export function shareMoves(shares: readonly number[], step: number): number[][] {
  const moves: number[][] = [[...shares]]
  for (let i = 0; i < shares.length; i++) {
    for (const sign of [1, -1]) {
      const changed = shares.slice()
      changed[i] = changed[i]! + sign * step
      if (changed[i]! < step) continue
      const difference = changed.reduce((sum, share) => sum + share, 0) - 100
      if (difference !== 0) {
        const largest = changed.indexOf(Math.max(...changed))
        if (largest === i || changed[largest]! - difference < step) continue
        changed[largest] = changed[largest]! - difference
      }
      moves.push(changed)
    }
  }
  return moves
}

/**
 * Merges the two tenants with the smallest shares, at the position of the smallest. Returns undefined for a single
 * tenant.
 */
export function mergeSmallest(tenants: readonly Tenant[]): Tenant[] | undefined {
  if (tenants.length < 2) return undefined
  const order = tenants.map((_, i) => i).sort((a, b) => tenants[a]!.mpsPercent - tenants[b]!.mpsPercent || a - b)
  const [first, second] = [order[0]!, order[1]!]
  const merged: Tenant = {
    model: tenants[first]!.model,
    mpsPercent: tenants[first]!.mpsPercent + tenants[second]!.mpsPercent,
    batchSize: Math.max(tenants[first]!.batchSize, tenants[second]!.batchSize),
  }
  return tenants.map((tenant, i) => (i === first ? merged : tenant)).filter((_, i) => i !== second)
}

/**
 * Splits the tenant with the largest share: one half stays in its place, the rest goes to the end of the list. Returns
 * undefined if its share is below two steps.
 */
export function splitLargest(tenants: readonly Tenant[], step: number): Tenant[] | undefined {
  const largest = tenants.reduce((best, tenant, i) => (tenant.mpsPercent > tenants[best]!.mpsPercent ? i : best), 0)
  const { mpsPercent, ...rest } = tenants[largest]!
  if (mpsPercent < 2 * step) return undefined
  const first = Math.floor(Math.floor(mpsPercent / 2) / step) * step
  const parts = tenants.map((tenant, i) => (i === largest ? { ...rest, mpsPercent: first } : tenant))
  return [...parts, { ...rest, mpsPercent: mpsPercent - first }]
}

/** Batch sizes of the published optimizer: 1, 2, and every multiple of 4 up to 256. */
export const batchPool: readonly number[] = [1, 2, ...Array.from({ length: 64 }, (_, i) => 4 * (i + 1))]

/**
 * Batch sizes that the published optimizer allows for a share p, percent: those of the pool from max(4, 0.8 p) to 6.4
 * p, plus the current batch size.
 */
export function allowedBatches(sharePercent: number, present?: number): number[] {
  const low = Math.max(4, Math.trunc(0.8 * sharePercent))
  const high = Math.trunc(6.4 * sharePercent)
  const allowed = batchPool.filter((batch) => batch >= low && batch <= high)
  if (present !== undefined && !allowed.includes(present)) allowed.push(present)
  return allowed.sort((a, b) => a - b)
}

/**
 * Lists of batch sizes to try. The first is the current list. Each other list changes one tenant's batch size to an
 * allowed size at most `radius` places away in the list of allowed sizes: near sizes first, the smaller before the
 * larger.
 */
export function batchNeighbours(tenants: readonly Tenant[], radius: number): number[][] {
  const present = tenants.map(({ batchSize }) => batchSize)
  const lists = [present]
  tenants.forEach(({ mpsPercent, batchSize }, i) => {
    const ladder = allowedBatches(mpsPercent, batchSize)
    const at = ladder.indexOf(batchSize)
    for (let distance = 1; distance <= radius; distance++) {
      for (const index of [at - distance, at + distance]) {
        if (ladder[index] !== undefined) lists.push(present.map((batch, j) => (j === i ? ladder[index]! : batch)))
      }
    }
  })
  return lists
}

/**
 * The relative throughput gain that the published shadow optimizer requires of a change, after a number of updates. It
 * starts at -10 %, so that changes with a predicted loss are accepted during the first 500 updates.
 */
export function publishedThreshold(updates: number): number {
  const progress = Math.min(1, updates / 1500)
  if (progress < 1 / 3) return -0.1 * (1 - 3 * progress)
  return 0.02 * (1 - Math.exp((-4 * (progress - 1 / 3)) / (2 / 3)))
}
