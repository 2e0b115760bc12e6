import type { Tenant } from '@pctodl/platform'

/** Batch sizes of the published search. */
export const defaultBatchSizes: readonly number[] = [4, 8, 16, 32, 64, 96, 128, 192, 256]

/** Minimum batch size in the published search, in samples per percent of share. */
const MIN_BATCH_PER_PERCENT = 0.8
/** Maximum batch size in the published search, in samples per percent of share. */
const MAX_BATCH_PER_PERCENT = 6.4

/**
 * All possible tenants, numbered. A kind is a network, a share in units of the share step, and a batch size. The search
 * handles only the numbers of kinds, so tenants of one kind are interchangeable by construction.
 *
 * Kinds are ordered by network (by name), share and batch size, independent of the caller's order.
 */
export interface TenantKinds {
  readonly networks: readonly string[]
  /** For each kind, its network, share and batch size. */
  readonly tenants: readonly Tenant[]
  /** For each kind, the index into `networks`. */
  readonly network: Uint16Array
  /** For each kind, the share in units of the share step. */
  readonly units: Uint16Array
  /** For each kind, the device memory of the process, bytes. */
  readonly memoryBytes: Float64Array
  /** For each kind, 1 if the published search would try this batch size at this share. */
  readonly published: Uint8Array
  /** Largest share of one tenant, in units of the share step. */
  readonly maxUnits: number
  /** The kinds of one network and share, in ascending order of batch size; empty for a share that is not allowed. */
  at(network: number, units: number): readonly number[]
}

/** Limits that the options set for a single tenant. */
export interface KindLimits {
  readonly networks: readonly string[]
  readonly sharePercentStep: number
  readonly maxSharePercent: number
  /** Allowed batch sizes, ascending. */
  readonly batchSizes: readonly number[]
  /** Smallest batch size, in samples per percent of share. */
  readonly minBatchPerPercent: number
  readonly memoryBytesOf: (tenant: Tenant) => number
}

const none: readonly number[] = []

/** Number all combinations of network, share and batch size within the limits. */
export function tenantKinds(limits: KindLimits): TenantKinds {
  const networks = [...limits.networks].sort()
  const maxUnits = Math.floor(limits.maxSharePercent / limits.sharePercentStep + 1e-9)
  const tenants: Tenant[] = []
  const network: number[] = []
  const units: number[] = []
  const published: number[] = []
  const groups: number[][] = []

  networks.forEach((model, n) => {
    for (let u = 1; u <= maxUnits; u++) {
      const mpsPercent = u * limits.sharePercentStep
      const group: number[] = []
      for (const batchSize of batchSizesFor(mpsPercent, limits)) {
        group.push(tenants.length)
        tenants.push({ model, mpsPercent, batchSize })
        network.push(n)
        units.push(u)
        published.push(batchSize >= Math.trunc(MIN_BATCH_PER_PERCENT * mpsPercent) ? 1 : 0)
      }
      // If every size is below the published range, the published search uses the nearest one.
      published[tenants.length - 1] = 1
      groups.push(group)
    }
  })

  return {
    networks,
    tenants,
    network: Uint16Array.from(network),
    units: Uint16Array.from(units),
    memoryBytes: Float64Array.from(tenants, limits.memoryBytesOf),
    published: Uint8Array.from(published),
    maxUnits,
    at: (n, u) => (u >= 1 && u <= maxUnits ? groups[n * maxUnits + u - 1]! : none),
  }
}

/**
 * Batch sizes for a share: at most 6.4 samples per percent, as in the published search. The published lower bound of
 * 0.8 samples per percent applies only on request, because a latency objective or scarce memory requires large shares
 * with small batches. If no size fits, the nearest one is used.
 */
function batchSizesFor(mpsPercent: number, { batchSizes, minBatchPerPercent }: KindLimits): readonly number[] {
  const least = Math.trunc(minBatchPerPercent * mpsPercent + 1e-9)
  const most = Math.trunc(MAX_BATCH_PER_PERCENT * mpsPercent + 1e-9)
  const fitting = batchSizes.filter((batchSize) => batchSize >= least && batchSize <= most)
  if (fitting.length > 0) return fitting
  return batchSizes.at(-1)! < least ? batchSizes.slice(-1) : batchSizes.slice(0, 1)
}
