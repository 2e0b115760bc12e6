import type { Tenant } from '@pctodl/platform'
import type { WindowObservation } from '../policy.js'

/** If the mean reaches this share of the objective, the 99th percentile exceeds it. */
const LATE = 0.98
/** Factor by which the next plan's objective shrinks below the excessive latency. */
const ROOM = 0.97
/** Plans are made for at least this share of the objective, however wrong the predictor is. */
const MIN_SCALE = 0.4

/**
 * Compares batch latencies with their objectives window by window, and learns for which share of the objective a plan
 * must be made on this board.
 */
export class LatencyWatch {
  readonly #objectiveMs: (model: string) => number
  /** Share of the objective that plans are made for. */
  scale = 1

  /** @param objectiveMs objective of a network; Infinity where it has none */
  constructor(objectiveMs: (model: string) => number) {
    this.#objectiveMs = objectiveMs
  }

  /** @returns the worst ratio of latency to objective, if another plan is needed for it */
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
   * Tenants of a window with smaller batches where theirs took too long, which needs no restart.
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
