import type { Tenant } from '@pctodl/platform'
import type { WindowObservation } from '@pctodl/scheduler'

/**
 * If the mean latency exceeds this fraction of the objective, the 99th percentile counts as exceeding the objective.
 */
const LATE = 0.95

/** Remembers, for each tenant, which batch sizes needed too much memory, until the shares change. */
export class BatchLimits {
  #shares = ''
  #limits: number[] = []

  /**
   * Halves the batch size of every tenant that failed.
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
   * Halves the batch size of every tenant whose batches took longer than its objective. For policies that have a
   * latency objective but no model.
   *
   * @param latencyMs objective of a network, ms; undefined if it has none
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

  /** Returns the tenants, with batch sizes reduced to the known limits. */
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
