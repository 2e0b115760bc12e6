import { type InstancePoint, throughputOf } from '../profile.js'
import { batchTimes, withBatchRates } from './batch-times.js'
import { lateShare, type TailQueue } from './late-share.js'
import { minHolding } from './least-holding.js'

/**
 * Requests that the estimate may call late: half of what a p99 objective leaves. The estimate is for workers that are alike and calm; the
 * other half is for what it does not see, workers of several kinds above all.
 */
export const LATE_SHARE = 0.005

/**
 * How the requests of a service reach its instances. `shared`: all its processes take from one queue. `split`: each request is sent to one
 * instance by chance, in proportion to what that answers in time, and waits in its queue.
 */
export type Dispatch = 'shared' | 'split'

/** A way to run a model in an instance of some profile on some boards. */
export interface Placeable {
  /** Instances with one slot are alike but for the point. */
  readonly slot: string
  /** The larger instances have more. */
  readonly computeSlices: number
  readonly point: InstancePoint
  /** Time of a batch of one, ms. */
  readonly singleMs: number
}

/** Instances that a service may have together: of each slot one point, and what part of the service's requests it answers in time. */
export type Way = readonly { readonly of: Placeable; readonly share: number }[]

/** A p99 objective under stated traffic. */
export interface TailGoal {
  readonly ratePerS: number
  readonly latencyMs: number
  readonly burstiness: number
  /** Share of requests that the estimate may call late. */
  readonly maxLate: number
}

/**
 * Rate over capacity at most, less the more unevenly requests come: what a stall of a second leaves behind, or many workers that begin
 * with small batches at once, is caught up within some thirty.
 */
function maxUtilisation(burstiness: number): number {
  return Math.max(0.5, 1 - 0.03 * Math.sqrt(burstiness))
}

/**
 * How unevenly the requests of one instance come. Chance sends a part of them there, whose burstiness is 1 + part · (burstiness - 1); of steady
 * requests it is taken to be 1, since they lose their steadiness on the way.
 */
export function splitBurstiness(burstiness: number, part: number = 1): number {
  return Math.max(1, 1 + part * (burstiness - 1))
}

/** Requests/s that an instance with a queue of its own answers in time. */
export function rateInTime(
  { point, singleMs }: Placeable,
  { latencyMs, burstiness, maxLate }: Omit<TailGoal, 'ratePerS'>,
): number {
  const capacityPerS = throughputOf(point)
  const { processes: workers, batchSize: largestBatch, latencyMs: fullBatchMs } = point
  const queue = { burstiness, capacityPerS, workers, largestBatch, fullBatchMs, singleMs }
  const inTime = (ratePerS: number) => lateShare({ ...queue, ratePerS }, latencyMs) <= maxLate
  let low = 0
  let high = maxUtilisation(burstiness) * capacityPerS
  if (inTime(high)) return high
  while (high - low > 5e-4 * high && high > 1e-3 * capacityPerS) {
    const middle = (low + high) / 2
    if (inTime(middle)) low = middle
    else high = middle
  }
  return low
}

/** Parts of a service's requests that one instance may get at most, where they come in bursts. */
const LARGEST_PARTS = [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64]

/**
 * Ways with a queue for each instance, of each slot the point that answers most. The less of the requests an instance gets, the less uneven they are: each largest part is
 * a way of its own. That with the whole is not among them.
 */
export function splitWays(placeables: readonly Placeable[], goal: TailGoal): Way[] {
  if (goal.burstiness <= 1) return []
  return LARGEST_PARTS.map((part) => {
    const best = new Map<string, Way[number]>()
    for (const of of placeables) {
      const most = Math.min(part, throughputOf(of.point) / goal.ratePerS)
      if (most <= (best.get(of.slot)?.share ?? 0)) continue
      const inTime = rateInTime(of, { ...goal, burstiness: splitBurstiness(goal.burstiness, part) })
      const share = Math.min(part, inTime / goal.ratePerS)
      if (share > (best.get(of.slot)?.share ?? 0)) best.set(of.slot, { of, share })
    }
    return [...best.values()]
  }).filter((way) => way.length > 0)
}

/** Longest batches considered of a service, spread over those that there are. */
const MAX_GATES = 24

/**
 * Ways with one queue for all instances. A longest batch time and a least number of processes leave of each slot one point, that of the highest
 * throughput; instances above a largest one may be left out, since more and smaller workers wait less for each other. Each way then needs the
 * least capacity at which it is estimated to keep the objective.
 */
export function sharedWays(placeables: readonly Placeable[], goal: TailGoal): Way[] {
  const ran = placeables.filter(({ point }) => point.latencyMs < goal.latencyMs)
  const slots = [...new Map(ran.map(({ slot, computeSlices }) => [slot, computeSlices]))]
  slots.sort(([a, x], [b, y]) => x - y || (a < b ? -1 : 1))
  const processes = [...new Set(ran.map(({ point }) => point.processes))].sort((a, b) => a - b)
  const gates = spread([...new Set(ran.map(({ point }) => point.latencyMs))].sort((a, b) => a - b))
  const ways = new Map<string, Way>()
  for (const gateMs of gates) {
    for (const least of processes) {
      const fitting = ran.filter(({ point }) => point.latencyMs <= gateMs && point.processes >= least)
      const chosen: Placeable[] = []
      for (const [slot] of slots) {
        const best = fastest(fitting.filter((each) => each.slot === slot))
        if (!best) continue
        chosen.push(best)
        const key = chosen.map((each) => ran.indexOf(each)).join()
        if (ways.has(key)) continue
        const capacityPerS = minCapacity(chosen, goal)
        if (capacityPerS === null) continue
        ways.set(
          key,
          chosen.map((of) => ({ of, share: throughputOf(of.point) / capacityPerS })),
        )
      }
    }
  }
  return undominated([...ways.values()])
}

function spread(values: readonly number[]): readonly number[] {
  if (values.length <= MAX_GATES) return values
  return Array.from({ length: MAX_GATES }, (_, i) => values[Math.round((i * (values.length - 1)) / (MAX_GATES - 1))]!)
}

/** Of points that answer as much the one with the smaller batch. */
function fastest(placeables: readonly Placeable[]): Placeable | undefined {
  return placeables.reduce<Placeable | undefined>((best, each) => {
    const gain = best ? throughputOf(each.point) - throughputOf(best.point) : 1
    return gain > 0 || (gain === 0 && each.point.batchSize < best!.point.batchSize) ? each : best
  }, undefined)
}

/** Null where no capacity keeps the objective. */
function minCapacity(
  chosen: readonly Placeable[],
  { ratePerS, latencyMs, burstiness, maxLate }: TailGoal,
): number | null {
  const most = (of: (each: Placeable) => number) => Math.max(...chosen.map(of))
  const workerPerS = most(({ point }) => point.processThroughput)
  const shape = {
    ratePerS,
    burstiness,
    largestBatch: most(({ point }) => point.batchSize),
    fullBatchMs: most(({ point }) => point.latencyMs),
    singleMs: most((each) => each.singleMs),
  }
  const queue = (capacityPerS: number): TailQueue => ({
    ...shape,
    capacityPerS,
    // So many at least, whichever instances make up the capacity.
    workers: Math.max(1, Math.ceil((capacityPerS / workerPerS) * (1 - 1e-9))),
  })
  const enough = (capacityPerS: number) => lateShare(queue(capacityPerS), latencyMs) <= maxLate
  const least = ratePerS / maxUtilisation(burstiness)
  if (enough(least)) return least
  let low = least
  let high = least
  do {
    low = high
    high = 1.5 * high + workerPerS
    if (high > 200 * (ratePerS + workerPerS)) return null
  } while (!enough(high))
  return minHolding(low, high, 5e-4, enough)
}

/** Without those of which another answers as much in each slot. */
function undominated(ways: readonly Way[]): Way[] {
  const shares = ways.map((way) => new Map(way.map(({ of, share }) => [of.slot, share])))
  const atMost = (a: number, b: number) =>
    ways[a]!.every(({ of, share }) => share <= (shares[b]!.get(of.slot) ?? 0) + 1e-12)
  return ways.filter((_, a) => ways.every((_, b) => a === b || !atMost(a, b) || (atMost(b, a) && a < b)))
}

/** The points of one instance, which tell of each other's smaller batches. */
export function placeablesOf(slot: string, computeSlices: number, points: readonly InstancePoint[]): Placeable[] {
  const rated = withBatchRates(points)
  return rated.map((point) => ({ slot, computeSlices, point, singleMs: batchTimes(rated, point)[1]! }))
}
