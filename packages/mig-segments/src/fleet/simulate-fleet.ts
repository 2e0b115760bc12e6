import { gammaArrivals, thinned } from '@pctodl/traffic'
import { batchTimes } from '../tail/batch-times.js'
import { type SimulatedService, type SimulationOptions, simulateSplit } from '../tail/simulate-plan.js'
import { splitBurstiness } from '../tail/tail-options.js'
import { withBatchRates } from '../tail/tail-points.js'
import type { Fleet } from './fleet.js'
import type { FleetPlan } from './fleet-plan.js'
import { withSize } from './fleet-rows.js'

/**
 * Let requests come to the services of a fleet: each is sent to one instance by chance, in proportion to what that answers in time, and waits
 * in its queue. In a shared instance each model has a queue of its own, and its batches take what they take while all others
 * run.
 *
 * @param fleet as planned: its profiles say what batches take that are not full
 * @returns in the order of `served`
 */
export function simulateFleet(
  { boards, served }: Pick<FleetPlan, 'boards' | 'served'>,
  fleet: Fleet,
  options: Omit<SimulationOptions, 'dispatch'> = {},
): SimulatedService[] {
  const { burstiness = 1, requests = 100_000, seed = 1, arrivals } = options
  return served.map(({ model, ratePerS, latencyMs, capacity }, m) => {
    const kinds = new Map<string, { count: number; share: number; batchMs: Float64Array; workers: number }>()
    for (const board of boards) {
      for (const segment of board.segments) {
        if (segment.model !== model) continue
        const { profile, start, batchSize, processes } = segment
        const shared = board.segments.some((other) => other.start === start && other.model !== model)
        const key = [board.group, board.smClockMhz, profile, batchSize, processes, segment.latencyMs, shared].join()
        const known = kinds.get(key)
        if (known) known.count++
        else {
          const points = shared ? [] : pointsOf(fleet, board, model, profile)
          const own = { ...segment, processThroughput: segment.throughput / processes }
          const rated = withBatchRates({ model, points: [...points, own].map(withSize) })
          const batchMs = batchTimes(rated, rated.points.at(-1)!)
          kinds.set(key, { count: 1, share: segment.ratePerS / capacity, batchMs, workers: processes })
        }
      }
    }
    const part = (share: number) =>
      arrivals
        ? thinned(arrivals(ratePerS), share)
        : gammaArrivals({ ratePerS: share * ratePerS, burstiness: splitBurstiness(burstiness, share) })
    const split = [...kinds.values()].map(({ count, share, ...kind }) => ({ kind, count, share }))
    return { model, ...simulateSplit(split, part, latencyMs, requests, 1000 * seed + m) }
  })
}

function pointsOf(
  { groups }: Fleet,
  { group, smClockMhz }: FleetPlan['boards'][number],
  model: string,
  profile: string,
) {
  return groups[group]!.profiles.filter((each) => each.model === model)
    .flatMap(({ points }) => points)
    .filter((point) => point.profile === profile && point.smClockMhz === smClockMhz)
}
