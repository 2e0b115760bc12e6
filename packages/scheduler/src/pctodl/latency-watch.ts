import type { Tenant } from '@pctodl/platform'
import type { WindowObservation } from '../policy.js'

/** A mean this near to the objective leaves its 99th percentile above it. */
const LATE = 0.98
/** The next plan is made for this much less than what was too long. */
const ROOM = 0.97
/** However wrong the predictor is, plans are made for at least this share of the objective. */
const MIN_SCALE = 0.4

/**
 * Compares the latency of batches with what was promised, window by window, and learns how much shorter than the objective a
 * plan has to be for this board to keep it.
 */
export class LatencyWatch {
  readonly #objectiveMs: (model: string) => number
  /** Share of its objective that a plan is made for. */
  scale = 1

  /** @param objectiveMs of a network; Infinity where it has none */
  constructor(objectiveMs: (model: string) => number) {
    this.#objectiveMs = objectiveMs
  }

  /** @returns the worst latency over its objective, where another plan is needed for it */
  step({ reconfigured, tenants }: WindowObservation): number | undefined {
    if (reconfigured) return undefined
    let worst = 0
    for (const { tenant, latencyMs } of tenants) {
      if (latencyMs !== null) worst = Math.max(worst, latencyMs / this.#objectiveMs(tenant.model))
    }
    if (worst <= LATE || this.scale <= MIN_SCALE) return undefined
    this.scale = Math.max(MIN_SCALE, (this.scale * ROOM) / Math.max(1, worst))
    return worst
  }

  /**
   * The tenants of a window with smaller batches where theirs took too long: that needs no restart.
   *
   * @returns undefined where batches of one sample still take too long
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
