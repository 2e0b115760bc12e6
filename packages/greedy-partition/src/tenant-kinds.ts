import type { Tenant } from '@pctodl/platform'

/** Those that the published search tries. */
export const defaultBatchSizes: readonly number[] = [4, 8, 16, 32, 64, 96, 128, 192, 256]

/** Samples per batch and percent of share that the published search bounds its batch sizes by. */
const MIN_BATCH_PER_PERCENT = 0.8
const MAX_BATCH_PER_PERCENT = 6.4

/**
 * Every tenant that may take part, numbered. A kind is a network, a share in units of the share step, and a batch size.
 * The search handles numbers only; two tenants of one kind are the same number, so they are interchangeable by construction.
 *
 * The numbers ascend with network (by name), share, batch size, whatever the order in which the caller listed them.
 */
export interface TenantKinds {
  readonly networks: readonly string[]
  /** By kind. */
  readonly tenants: readonly Tenant[]
  /** By kind: index into `networks`. */
  readonly network: Uint16Array
  /** By kind: share in units of the step. */
  readonly units: Uint16Array
  /** By kind: the device memory that the process needs, bytes. */
  readonly memoryBytes: Float64Array
  /** By kind: 1 where the published search would try this batch size at this share. */
  readonly published: Uint8Array
  /** Largest share of one tenant, in units. */
  readonly maxUnits: number
  /** The kinds of one network and share, batch sizes ascending; empty for a share that no tenant can have. */
  at(network: number, units: number): readonly number[]
}

/** Bounds that the options put on a single tenant. */
export interface KindLimits {
  readonly networks: readonly string[]
  readonly sharePercentStep: number
  readonly maxSharePercent: number
  /** Ascending. */
  readonly batchSizes: readonly number[]
  /** Smallest batch size, in samples per percent of share. */
  readonly minBatchPerPercent: number
  readonly memoryBytesOf: (tenant: Tenant) => number
}

const none: readonly number[] = []

/** Number every (network, share, batch size) within the limits. */
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
      // Where every size is below the published range, the published search takes the nearest one.
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
 * Batch sizes for a share: at most 6.4 samples per percent, as published. The published lower bound of 0.8 per percent is
 * only a bound where asked for: under a latency objective or in scarce memory a large share with a small batch is what is
 * needed. A share for which no size fits takes the nearest one.
 */
function batchSizesFor(mpsPercent: number, { batchSizes, minBatchPerPercent }: KindLimits): readonly number[] {
  const least = Math.trunc(minBatchPerPercent * mpsPercent + 1e-9)
  const most = Math.trunc(MAX_BATCH_PER_PERCENT * mpsPercent + 1e-9)
  const fitting = batchSizes.filter((batchSize) => batchSize >= least && batchSize <= most)
  if (fitting.length > 0) return fitting
  return batchSizes.at(-1)! < least ? batchSizes.slice(-1) : batchSizes.slice(0, 1)
}
