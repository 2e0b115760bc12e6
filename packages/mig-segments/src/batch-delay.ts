import type { PlannedSegment, SegmentPlan } from './segment-plan.js'

/** How long the requests of a segment take when every service's rate is shared among its segments by their throughput. */
export interface BatchDelay {
  /** Index of the GPU. */
  readonly gpu: number
  readonly segment: PlannedSegment
  /** Requests/s that reach the segment. */
  readonly ratePerS: number
  /** Time in which a batch for every process of the segment arrives, ms. */
  readonly fillMs: number
  /** `fillMs` plus the time of the batch, ms: what the first request of a batch waits at most. */
  readonly totalMs: number
  /** The service's objective, ms. */
  readonly latencyMs: number
}

/**
 * The time that forming batches takes, which the latency gate only budgets for. A segment with a large batch and few requests
 * answers late unless batches are sent before they are full.
 */
export function batchDelays({ gpus, served }: Pick<SegmentPlan, 'gpus' | 'served'>): BatchDelay[] {
  const services = new Map(served.map((service) => [service.model, service]))
  return gpus.flatMap(({ index, segments }) =>
    segments.map((segment) => {
      const { ratePerS, capacity, latencyMs } = services.get(segment.model)!
      const share = (ratePerS * segment.throughput) / capacity
      const fillMs = (1000 * segment.batchSize * segment.processes) / share
      return { gpu: index, segment, ratePerS: share, fillMs, totalMs: fillMs + segment.latencyMs, latencyMs }
    }),
  )
}

/** The segments that would answer later than their objective if they waited for full batches. */
export function lateSegments(plan: Pick<SegmentPlan, 'gpus' | 'served'>): BatchDelay[] {
  return batchDelays(plan).filter(({ totalMs, latencyMs }) => totalMs > latencyMs)
}
