import { MAX_MPS_CLIENTS, type Tenant } from '@pctodl/platform'
import { batchNeighbours, batchPool, mergeSmallest, shareMoves, splitLargest } from './neighbourhood.js'

/** Something else to run. */
export interface Candidate {
  readonly tenants: readonly Tenant[]
  readonly memClockMhz: number
}

export interface CandidateOptions {
  readonly sharePercentStep: number
  readonly radius: number
  readonly memClocksMhz: readonly number[]
}

/**
 * Configurations near the present one: first what needs no restart (the other memory clocks, one batch size or that of all
 * tenants alike), then one share moved, two tenants merged, one split, each with the batch sizes they come with. Each set of
 * tenants once, whatever their order; never the present one.
 */
export function candidatesNear(present: Candidate, options: CandidateOptions): Candidate[] {
  const { tenants, memClockMhz } = present
  const seen = new Set([keyOf(present)])
  const candidates: Candidate[] = []
  const add = (candidate: Candidate) => {
    const key = keyOf(candidate)
    if (seen.has(key) || candidate.tenants.length > MAX_MPS_CLIENTS) return
    seen.add(key)
    candidates.push(candidate)
  }
  for (const other of options.memClocksMhz) add({ tenants, memClockMhz: other })
  for (const batches of [...batchNeighbours(tenants, options.radius), ...alikeBatches(tenants)]) {
    add({ tenants: withBatches(tenants, batches), memClockMhz })
  }
  const { sharePercentStep } = options
  for (const shares of shareMoves(
    tenants.map(({ mpsPercent }) => mpsPercent),
    sharePercentStep,
  )) {
    add({ tenants: tenants.map((tenant, i) => ({ ...tenant, mpsPercent: shares[i]! })), memClockMhz })
  }
  for (const changed of [mergeSmallest(tenants), splitLargest(tenants, sharePercentStep)]) {
    if (!changed) continue
    add({ tenants: changed, memClockMhz })
    for (const batches of alikeBatches(changed)) add({ tenants: withBatches(changed, batches), memClockMhz })
  }
  return candidates
}

/** Identifies a set of tenants at a memory clock. */
export function keyOf({ tenants, memClockMhz }: Candidate): string {
  const kinds = tenants.map(({ model, mpsPercent, batchSize }) => `${model} ${mpsPercent} ${batchSize}`)
  return `${memClockMhz}: ${kinds.sort().join(', ')}`
}

/** Every kind of tenant (network, share, batch) with another batch, and all tenants with theirs scaled alike. */
function alikeBatches(tenants: readonly Tenant[]): number[][] {
  const lists: number[][] = []
  const factors = [0.5, 0.75, 1.25, 1.5, 2]
  const present = tenants.map(({ batchSize }) => batchSize)
  const kinds = new Set(tenants.map(({ mpsPercent, batchSize }) => `${mpsPercent} ${batchSize}`))
  for (const factor of factors) {
    lists.push(present.map((batch) => nearestBatch(batch * factor)))
    for (const kind of kinds) {
      lists.push(
        tenants.map(({ mpsPercent, batchSize }) =>
          `${mpsPercent} ${batchSize}` === kind ? nearestBatch(batchSize * factor) : batchSize,
        ),
      )
    }
  }
  return lists
}

function nearestBatch(batch: number): number {
  return batchPool.reduce((best, size) => (Math.abs(size - batch) < Math.abs(best - batch) ? size : best))
}

function withBatches(tenants: readonly Tenant[], batches: readonly number[]): Tenant[] {
  return tenants.map((tenant, i) => ({ ...tenant, batchSize: batches[i]! }))
}
