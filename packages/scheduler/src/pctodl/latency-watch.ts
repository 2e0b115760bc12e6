import type { Tenant } from '@pctodl/platform'
import type { WindowObservation } from '../policy.js'

/** A mean batch latency above this share of the objective is taken as a p99 above the objective. */
const LATE = 0.98
/**
 * After a miss, the objective for the next plan is reduced in proportion to the excess, and by this factor in addition.
 */
const ROOM = 0.97
/**
 * Lowest value of `scale`. Plans are never made for less than this fraction of the latency objective, even if the
 * predictor's error is larger.
 */
const MIN_SCALE = 0.4

/**
 * Compares the batch latencies of each window with their objectives. Learns for which share of the objective plans must
 * be made, so that the board meets the objective despite the predictor's error.
 */
export class LatencyWatch {
  readonly #objectiveMs: (model: string) => number
  #scale = 1

  /** @param objectiveMs latency objective of a network, ms; Infinity if it has none */
  constructor(objectiveMs: (model: string) => number) {
    this.#objectiveMs = objectiveMs
  }

  /** Share of the objective that plans are made for, 0..1. */
  get scale(): number {
    return this.#scale
  }

  /** @returns the largest ratio of latency to objective if it requires another plan; otherwise undefined */
  step({ reconfigured, tenants }: WindowObservation): number | undefined {
    if (reconfigured) return undefined
    let worst = 0
    for (const { tenant, latencyMs } of tenants) {
      if (latencyMs !== null) worst = Math.max(worst, latencyMs / this.#objectiveMs(tenant.model))
    }
    if (worst <= LATE || this.#scale <= MIN_SCALE) return undefined
    this.#scale = Math.max(MIN_SCALE, (this.#scale * ROOM) / Math.max(1, worst))
    return worst
  }

  /**
   * Returns the window's tenants, with smaller batches for tenants whose batches took too long. Smaller batches need no
   * restart.
   *
   * @returns undefined if even batches of one sample take too long
   */
  shortened({ tenants }: WindowObservation): Tenant[] | undefined {
    const shorter = tenants.map(({ tenant, latencyMs }) => {
      const over = (latencyMs ?? 0) / this.#objectiveMs(tenant.model)
      if (over <= LATE) return tenant
      const batchSize = Math.min(tenant.batchSize - 1, Math.floor((ROOM * tenant.batchSize) / over))
      return { ...tenant, batchSize }
    })
    return shorter.every(({ batchSize }) => batchSize >= 1) ? shorter : undefined
  }
}
