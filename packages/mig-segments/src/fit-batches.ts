import { batchDelays } from './batch-delay.js'
import { latencyGateMs } from './latency-gate.js'
import { type ServiceProfile, throughputOf } from './profile.js'
import { type PlannedGpu, type SegmentPlan, servedServices } from './segment-plan.js'

/**
 * Give segments that would answer late, waiting for full batches, the point of their size with the most throughput that
 * would not: a smaller batch or fewer processes. Instances stay what and where they are, and so do the GPUs.
 *
 * @returns the plan so changed; a segment for which no point helps is left as it is, and `lateSegments` still names it
 */
export function fitBatches<T extends SegmentPlan>(
  plan: T,
  profiles: readonly ServiceProfile[],
  latencyShare?: number,
): T {
  const byModel = new Map(profiles.map((profile) => [profile.model, profile]))
  const delays = new Map(batchDelays(plan).map((delay) => [delay.segment, delay]))
  const gpus = plan.gpus.map(
    ({ index, segments }): PlannedGpu => ({
      index,
      segments: segments.map((segment) => {
        const { ratePerS, totalMs, latencyMs } = delays.get(segment)!
        if (totalMs <= latencyMs) return segment
        const gateMs = latencyGateMs(latencyMs, latencyShare)
        const fitting = byModel
          .get(segment.model)!
          .points.filter((point) => point.sizeGpcs === segment.sizeGpcs && point.latencyMs < gateMs)
          .filter((point) => throughputOf(point) >= ratePerS)
          .filter((point) => (1000 * point.batchSize * point.processes) / ratePerS + point.latencyMs <= latencyMs)
          .sort((a, b) => throughputOf(b) - throughputOf(a))[0]
        return fitting ? { ...segment, ...fitting, throughput: throughputOf(fitting) } : segment
      }),
    }),
  )
  return { ...plan, gpus, served: servedServices(plan.served, gpus) }
}
