import type { PlannedSegment, SegmentPlan } from './segment-plan.js'

/** Delays of a segment's requests when each service's rate is split over its segments in proportion to throughput. */
export interface BatchDelay {
  /** Index of the GPU. */
  readonly gpu: number
  readonly segment: PlannedSegment
  /** Request rate of the segment, requests/s. */
  readonly ratePerS: number
  /** Time until one batch for each process of the segment has arrived, ms. */
  readonly fillMs: number
  /** `fillMs` plus the batch time, ms: the longest wait of a batch's first request. */
  readonly totalMs: number
  /** The service's objective, ms. */
  readonly latencyMs: number
}

/**
 * Batch-forming delays, for which the latency gate only reserves a fixed share. A segment with a large batch and a low
 * rate answers late unless batches are sent before they are full.
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

/** Segments that would miss their objective if they waited for full batches. */
export function lateSegments(plan: Pick<SegmentPlan, 'gpus' | 'served'>): BatchDelay[] {
  return batchDelays(plan).filter(({ totalMs, latencyMs }) => totalMs > latencyMs)
}
