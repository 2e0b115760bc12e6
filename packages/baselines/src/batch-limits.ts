import type { Tenant } from '@pctodl/platform'
import type { WindowObservation } from '@pctodl/scheduler'

/** A mean above this share of the objective leaves its 99th percentile above it. */
const LATE = 0.95

/** Remembers which batch sizes proved too large for the memory, tenant by tenant, as long as the shares stay the same. */
export class BatchLimits {
  #shares = ''
  #limits: number[] = []

  /**
   * Halve the batch of every tenant that failed.
   *
   * @returns whether any limit is new
   */
  learn({ tenants }: WindowObservation): boolean {
    this.#select(tenants.map(({ tenant }) => tenant))
    let learnt = false
    tenants.forEach(({ tenant, failure }, i) => {
      if (failure === null) return
      const limit = Math.max(1, Math.floor(tenant.batchSize / 2))
      if (limit >= Math.min(this.#limits[i]!, tenant.batchSize)) return
      this.#limits[i] = limit
      learnt = true
    })
    return learnt
  }

  /**
   * Halve the batch of every tenant whose batches took longer than promised, whatever memory says: who has promised a latency and
   * has no model does so.
   *
   * @param latencyMs objective of a network; undefined where it has none
   * @returns whether any limit is new
   */
  learnLatency(
    { tenants, reconfigured }: WindowObservation,
    latencyMs: (model: string) => number | undefined,
  ): boolean {
    if (reconfigured) return false
    this.#select(tenants.map(({ tenant }) => tenant))
    let learnt = false
    tenants.forEach(({ tenant, latencyMs: tookMs }, i) => {
      if (
        tookMs === null ||
        tookMs <= LATE * (latencyMs(tenant.model) ?? Number.POSITIVE_INFINITY) ||
        tenant.batchSize === 1
      )
        return
      this.#limits[i] = Math.min(this.#limits[i]!, Math.max(1, Math.floor(tenant.batchSize / 2)))
      learnt = true
    })
    return learnt
  }

  /** The tenants with batch sizes within what is known to fit. */
  apply(tenants: readonly Tenant[]): readonly Tenant[] {
    this.#select(tenants)
    return tenants.map((tenant, i) => ({ ...tenant, batchSize: Math.min(tenant.batchSize, this.#limits[i]!) }))
  }

  #select(tenants: readonly Tenant[]): void {
    const shares = tenants.map(({ model, mpsPercent }) => `${model} ${mpsPercent}`).join()
    if (shares === this.#shares) return
    this.#shares = shares
    this.#limits = tenants.map(() => Number.POSITIVE_INFINITY)
  }
}
