import type { ServiceProfile } from '../profile.js'
import type { PlannedSegment, SegmentPlan } from '../segment-plan.js'
import { batchTimes } from './batch-times.js'
import { lateShare, type TailQueue } from './late-share.js'
import { leastHolding } from './least-holding.js'
import { type Dispatch, splitBurstiness } from './tail-options.js'
import { fullBatchRate } from './tail-points.js'

/** What the requests of a planned service will meet. */
export interface ServiceTail {
  readonly model: string
  /** Processes of all its segments: workers at one queue. */
  readonly workers: number
  /** Rate over capacity, 0..1. */
  readonly utilisation: number
  /** Estimate of the share of requests that are late, 0..1. */
  readonly lateShare: number
  /** Estimate of the latency that 99 of 100 requests do not exceed, ms. */
  readonly p99Ms: number
}

/** Segments of each service that run alike. */
export function segmentKinds({
  gpus,
}: Pick<SegmentPlan, 'gpus'>): Map<string, { segment: PlannedSegment; count: number }[]> {
  const kinds = new Map<string, { segment: PlannedSegment; count: number }[]>()
  for (const { segments } of gpus) {
    for (const segment of segments) {
      const of = kinds.get(segment.model) ?? []
      const kind = of.find(
        ({ segment: { sizeGpcs, batchSize, processes } }) =>
          sizeGpcs === segment.sizeGpcs && batchSize === segment.batchSize && processes === segment.processes,
      )
      if (kind) kind.count++
      else of.push({ segment, count: 1 })
      kinds.set(segment.model, of)
    }
  }
  return kinds
}

/**
 * What the estimate says of each service of a plan, in the order of `served`; of segments with a queue each the worst one.
 *
 * @param profiles as `withBatchRates` has them
 */
export function tailsOf(
  plan: Pick<SegmentPlan, 'gpus' | 'served'>,
  profiles: readonly ServiceProfile[],
  burstiness: number,
  dispatch: Dispatch,
): ServiceTail[] {
  const byModel = new Map(profiles.map((profile) => [profile.model, profile]))
  const kinds = segmentKinds(plan)
  return plan.served.map(({ model, ratePerS, latencyMs, capacity }) => {
    const of = kinds.get(model)!
    const queueOf = (some: typeof of, rate: number): TailQueue => ({
      ratePerS: rate,
      burstiness: dispatch === 'shared' ? burstiness : splitBurstiness(burstiness, rate / ratePerS),
      capacityPerS: some.reduce((sum, { segment, count }) => sum + count * fullBatchRate(segment), 0),
      workers: some.reduce((sum, { segment, count }) => sum + count * segment.processes, 0),
      largestBatch: Math.max(...some.map(({ segment }) => segment.batchSize)),
      fullBatchMs: Math.max(...some.map(({ segment }) => segment.latencyMs)),
      singleMs: Math.max(...some.map(({ segment }) => batchTimes(byModel.get(model)!, segment)[1]!)),
    })
    const all = queueOf(of, ratePerS)
    const queues =
      dispatch === 'shared'
        ? [all]
        : of.map(({ segment }) => queueOf([{ segment, count: 1 }], (ratePerS * segment.throughput) / capacity))
    return {
      model,
      workers: all.workers,
      utilisation: ratePerS / all.capacityPerS,
      lateShare: Math.max(...queues.map((queue) => lateShare(queue, latencyMs))),
      p99Ms: Math.max(...queues.map(p99Of)),
    }
  })
}

function p99Of(queue: TailQueue): number {
  if (queue.capacityPerS <= queue.ratePerS) return Number.POSITIVE_INFINITY
  const isP99 = (ms: number) => lateShare(queue, ms) <= 0.01
  let high = 2 * queue.fullBatchMs
  while (!isP99(high)) high *= 2
  return leastHolding(queue.fullBatchMs, high, 1e-3, isP99)
}
