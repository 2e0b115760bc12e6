import { sameProcess, type Tenant } from '@pctodl/platform'

/** A set of tenants and the memory clock at which they run. */
export interface Candidate {
  readonly tenants: readonly Tenant[]
  readonly memClockMhz: number
}

/** Key of a set of tenants at a memory clock, independent of their order. */
export function keyOf({ tenants, memClockMhz }: Candidate): string {
  const kinds = tenants.map(({ model, mpsPercent, batchSize }) => `${model} ${mpsPercent} ${batchSize}`)
  return `${memClockMhz}: ${kinds.sort().join(', ')}`
}

/** Number of tenants of `next` that need a new process, because no process of `present` can serve them. */
export function restartedCount(present: readonly Tenant[], next: readonly Tenant[]): number {
  const left = [...present]
  let restarted = 0
  for (const tenant of next) {
    const index = left.findIndex((other) => sameProcess(other, tenant))
    if (index < 0) restarted++
    else left.splice(index, 1)
  }
  return restarted
}

/**
 * Samples lost in a change of tenants: the samples that the restarted tenants would have completed while they load.
 */
export function restartCostSamples(
  present: readonly Tenant[],
  next: readonly Tenant[],
  throughput: number,
  restartS: number,
): number {
  return (restartS * throughput * restartedCount(present, next)) / next.length
}

/**
 * Configurations that differ from the present one in one respect: the memory clock, the batch sizes (of one kind of
 * tenant, or of all), or one share moved by one step. The result has no duplicates and excludes the present
 * configuration.
 */
export function neighboursOf(present: Candidate, memClocksMhz: readonly number[], shareStep: number): Candidate[] {
  const { tenants, memClockMhz } = present
  const shares = tenants.map(({ mpsPercent }) => mpsPercent)
  const candidates: Candidate[] = [
    ...memClocksMhz.map((clockMhz) => ({ tenants, memClockMhz: clockMhz })),
    ...otherBatches(tenants).map((changed) => ({ tenants: changed, memClockMhz })),
    ...shareMoves(shares, shareStep).map((moved) => ({
      tenants: tenants.map((tenant, i) => ({ ...tenant, mpsPercent: moved[i]! })),
      memClockMhz,
    })),
  ]
  const found = new Map(candidates.map((candidate) => [keyOf(candidate), candidate]))
  found.delete(keyOf(present))
  return [...found.values()]
}

const batchFactors = [0.5, 0.75, 0.9, 1.1, 1.25, 1.5, 2]
const MAX_BATCH = 256

function otherBatches(tenants: readonly Tenant[]): Tenant[][] {
  const kinds = new Set(tenants.map(({ mpsPercent, batchSize }) => `${mpsPercent} ${batchSize}`))
  return [undefined, ...kinds].flatMap((kind) =>
    batchFactors.map((factor) =>
      tenants.map((tenant) => {
        if (kind !== undefined && `${tenant.mpsPercent} ${tenant.batchSize}` !== kind) return tenant
        return { ...tenant, batchSize: Math.min(MAX_BATCH, Math.max(1, Math.round(factor * tenant.batchSize))) }
      }),
    ),
  )
}

/** Moves each share one step up and one step down. The largest share absorbs the difference to 100 %. */
export function shareMoves(shares: readonly number[], step: number): number[][] {
  const moves: number[][] = []
  for (let i = 0; i < shares.length; i++) {
    for (const change of [step, -step]) {
      const changed = shares.slice()
      changed[i]! += change
      const excess = changed.reduce((sum, share) => sum + share, 0) - 100
      const largest = changed.indexOf(Math.max(...changed))
      if (excess !== 0 && largest === i) continue
      changed[largest]! -= excess
      if (Math.min(...changed) >= step) moves.push(changed)
    }
  }
  return moves
}
