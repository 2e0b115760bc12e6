import { type ArrivalProcess, gammaArrivals, thinned } from '@pctodl/traffic'
import type { ServiceProfile } from '../profile.js'
import type { SegmentPlan } from '../segment-plan.js'
import { batchTimes } from './batch-times.js'
import { segmentKinds } from './service-tails.js'
import { type QueueOutcome, simulateQueue, type WorkerKind } from './simulate-queue.js'
import type { Dispatch } from './tail-options.js'
import { withBatchRates } from './tail-points.js'

export interface SimulationOptions {
  /** Variance of the gaps between requests over their squared mean. Default 1: Poisson. */
  readonly burstiness?: number
  /** How the requests of a service come, where that is not how they come. Default: gaps with a gamma distribution. */
  readonly arrivals?: (ratePerS: number) => ArrivalProcess
  /** How requests reach segments. Default `shared`. */
  readonly dispatch?: Dispatch
  /** Requests counted of each service; where each segment has a queue, at least 10 000 of each kind. Default 100 000. */
  readonly requests?: number
  /** Default 1. */
  readonly seed?: number
}

export interface SimulatedService extends QueueOutcome {
  /** With a queue for each segment `p99Ms` is that of the worst one. */
  readonly model: string
}

/**
 * Let requests come to a plan's services: processes take what waits in their queue, at once and up to a full batch. Batches take what the profile says while all of an instance's processes run.
 *
 * @returns in the order of `served`
 */
export function simulatePlan(
  plan: Pick<SegmentPlan, 'gpus' | 'served'>,
  profiles: readonly ServiceProfile[],
  options: SimulationOptions = {},
): SimulatedService[] {
  const { burstiness = 1, requests = 100_000, seed = 1, dispatch = 'shared' } = options
  const { arrivals = (ratePerS: number) => gammaArrivals({ ratePerS, burstiness }) } = options
  // Chance takes some of the gaps' variance away; with arrivals of the caller's own it is drawn request by request.
  const part = (ratePerS: number, share: number) =>
    options.arrivals
      ? thinned(arrivals(ratePerS), share)
      : gammaArrivals({ ratePerS: share * ratePerS, burstiness: 1 + share * (burstiness - 1) })
  const byModel = new Map(profiles.map((profile) => [profile.model, withBatchRates(profile)]))
  const kinds = segmentKinds(plan)
  return plan.served.map(({ model, ratePerS, latencyMs, capacity }, m) => {
    const of = kinds.get(model)!
    const kindOf = ({ segment }: (typeof of)[number], workers: number) => ({
      workers,
      batchMs: batchTimes(byModel.get(model)!, segment),
    })
    const stream = 1000 * seed + m
    if (dispatch === 'shared') {
      const workers = of.map((kind) => kindOf(kind, kind.count * kind.segment.processes))
      return { model, ...simulateQueue(workers, arrivals(ratePerS).start(stream), latencyMs, requests) }
    }
    const kindsOf = of.map((kind) => ({
      ...{ kind: kindOf(kind, kind.segment.processes), count: kind.count },
      share: kind.segment.throughput / capacity,
    }))
    return { model, ...simulateSplit(kindsOf, (share) => part(ratePerS, share), latencyMs, requests, stream) }
  })
}

/** Segments that run alike, each with its own queue. */
export interface SplitKind {
  readonly kind: WorkerKind
  readonly count: number
  /** Of the service's requests, that one segment gets, 0..1. */
  readonly share: number
}

/** Queues of segments, filled by chance. Segments of a kind meet the same: one stands for them, with its part of the requests. */
export function simulateSplit(
  kinds: readonly SplitKind[],
  part: (share: number) => ArrivalProcess,
  latencyMs: number,
  requests: number,
  stream: number,
): QueueOutcome {
  const outcomes = kinds.map(({ kind, count, share }, k) => {
    const counted = Math.max(10_000, Math.ceil(requests * share * count))
    return simulateQueue([kind], part(share).start(stream + 100 * k), latencyMs, counted)
  })
  const late = outcomes.reduce((sum, each, k) => {
    const { count, share } = kinds[k]!
    return sum + (count * share * each.late) / each.requests
  }, 0)
  return { requests, late: Math.round(late * requests), p99Ms: Math.max(...outcomes.map(({ p99Ms }) => p99Ms)) }
}
