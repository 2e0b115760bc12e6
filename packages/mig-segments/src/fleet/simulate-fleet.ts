import { gammaArrivals, thinned } from '@pctodl/traffic'
import { checkInteger } from '../check.js'
import type { ServiceObjective } from '../profile.js'
import { batchTimes, withBatchRates } from '../tail/batch-times.js'
import {
  type SimulatedService,
  type SimulationOptions,
  simulateQueue,
  type WorkerKind,
} from '../tail/simulate-queue.js'
import { assertDispatch, splitBurstiness } from '../tail/ways.js'
import { checkFleet, type Lane } from './check-fleet.js'
import type { Fleet } from './fleet.js'
import type { FleetBoard } from './place-fleet.js'

/** Lowest simulated rate, requests/s. At lower ones, times in double precision would not resolve a batch. */
const LOWEST_RATE = 1e-6
/** Maximum number of requests that are counted for a service. More would need too much memory. */
export const MAX_REQUESTS = 1e7

interface Kind {
  count: number
  /** Fraction of the service's requests that each of these instances gets, 0..1. */
  readonly share: number
  readonly workers: number
  readonly batchMs: Float64Array
}

/** Services, and the boards that serve them. */
export interface BoardsOfServices {
  readonly boards: readonly FleetBoard[]
  readonly served: readonly ServiceObjective[]
}

/**
 * Simulates the requests of a plan's services. A free process takes the waiting requests at once, up to a full batch.
 * With `split`, each request goes to a random instance, weighted by the rate that the instance answers in time. In a
 * shared instance, each model has its own queue, and batch times assume that all co-runners are active.
 *
 * @param fleet as planned; its profiles give the times of partial batches
 * @returns outcomes in the order of `served`
 */
export function simulateFleet(
  plan: BoardsOfServices,
  fleet: Fleet,
  options: SimulationOptions = {},
): SimulatedService[] {
  return simulateLanes(plan, checkFleet(fleet).lanes, options)
}

/** `simulateFleet` for a fleet that has been checked. */
export function simulateLanes(
  plan: BoardsOfServices,
  lanes: readonly Lane[],
  options: SimulationOptions,
): SimulatedService[] {
  const { burstiness = 1, requests = 100_000, perSlot = 0, seed = 1, dispatch = 'split', arrivals, only } = options
  assertDispatch(dispatch)
  checkInteger('requests', requests, 1, MAX_REQUESTS)
  checkInteger('perSlot', perSlot, 0)
  checkInteger('seed', seed, 0, 2 ** 32 - 1)
  const enough = (of: readonly WorkerKind[]) =>
    Math.min(2e6, perSlot * of.reduce((sum, { workers, batchMs }) => sum + workers * (batchMs.length - 1), 0))
  return plan.served.map(({ model, ratePerS: asked, latencyMs }, m) => {
    const ratePerS = Math.max(LOWEST_RATE, asked)
    if (only && !only.has(model)) return { model, requests: 0, late: 0, p99Ms: Number.NaN }
    const kinds = kindsOf(plan.boards, lanes, model)
    const stream = 1000 * seed + m
    if (dispatch === 'shared') {
      const process = arrivals?.(ratePerS) ?? gammaArrivals({ ratePerS, burstiness })
      const workers = kinds.map(({ count, workers: each, batchMs }) => ({ workers: count * each, batchMs }))
      const counted = Math.max(requests, enough(workers))
      return { model, ...simulateQueue(workers, process.start(stream), latencyMs, counted, options.fresh) }
    }
    // Each instance gets a random part of the requests, which is less bursty than all of them. The caller's own
    // arrivals are divided request by request.
    const part = (share: number) =>
      arrivals
        ? thinned(arrivals(ratePerS), share)
        : gammaArrivals({ ratePerS: share * ratePerS, burstiness: splitBurstiness(burstiness, share) })
    // Instances of a kind get the same traffic, so one is simulated for all.
    const outcomes = kinds.map((kind, k) => {
      const counted = Math.max(10_000, enough([kind]), Math.ceil(requests * kind.share * kind.count))
      return simulateQueue([kind], part(kind.share).start(stream + 100 * k), latencyMs, counted, options.fresh)
    })
    const late = outcomes.reduce((sum, of, k) => sum + (kinds[k]!.count * kinds[k]!.share * of.late) / of.requests, 0)
    const p99Ms = Math.max(...outcomes.map((each) => each.p99Ms))
    return { model, requests, late: Math.round(late * requests), p99Ms }
  })
}

/** The kinds of instances that serve a model. */
export function kindsOf(boards: readonly FleetBoard[], lanes: readonly Lane[], model: string): Kind[] {
  const kinds = new Map<string, Kind>()
  const own = boards.flatMap(({ segments }) => segments).filter((segment) => segment.model === model)
  const capacity = own.reduce((sum, { ratePerS }) => sum + ratePerS, 0)
  for (const { group, smClockMhz, segments } of boards) {
    for (const segment of segments) {
      if (segment.model !== model) continue
      const { profile, start, batchSize, processes, throughput, latencyMs } = segment
      const shared = segments.some((other) => other.start === start && other.model !== model)
      const key = [group, smClockMhz, profile, batchSize, processes, latencyMs, shared].join()
      const known = kinds.get(key)
      if (known) {
        known.count++
        continue
      }
      const points = lanes
        .filter((lane) => !shared && lane.group === group && lane.smClockMhz === smClockMhz)
        .flatMap((lane) => lane.profiles.filter((each) => each.model === model))
        .flatMap((each) => each.points.filter((point) => point.profile === profile))
      const full = { profile, batchSize, processes, processThroughput: throughput / processes, latencyMs }
      const batchMs = batchTimes(withBatchRates([...points, full]), full)
      kinds.set(key, { count: 1, share: segment.ratePerS / capacity, workers: processes, batchMs })
    }
  }
  return [...kinds.values()]
}
