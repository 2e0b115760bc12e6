import { UnknownNameError } from '@pctodl/platform'
import { type InstancePoint, type ServiceObjective, throughputOf } from '../profile.js'
import { batchTimes, withBatchRates } from './batch-times.js'
import { lateShare, type TailQueue } from './late-share.js'

/** Consecutive requests of which at most 1 % may be late. */
const WINDOW = 40_000
/** Maximum fraction of windows with more late requests. */
const LATE_WINDOWS = 0.01
/** Factor on the estimated fraction of late requests, because the estimate assumes identical workers. */
const CAUTION = 1.5

/**
 * How the requests of a service reach its instances. `shared`: all processes take from one queue. `split`: each request
 * waits in the queue of an instance drawn at random, in proportion to the rate that each instance answers in time.
 */
export type Dispatch = 'shared' | 'split'

export function assertDispatch(dispatch: Dispatch): void {
  if (dispatch !== 'split' && dispatch !== 'shared')
    throw new UnknownNameError('dispatch', dispatch, ['shared', 'split'])
}

/** One way to run a model in an instance, and its place in the fleet. */
export interface Placeable {
  /** Name of the kind of instance. Points with the same slot run in the same kind of instance. */
  readonly slot: string
  /** Compute slices of the instance, by which instances are sorted by size. */
  readonly computeSlices: number
  readonly point: InstancePoint
  /** Time of a batch of one, ms. */
  readonly singleMs: number
}

/** One point for each slot that a service may use, and the share of its requests that it answers in time. */
export type Way<T extends Placeable = Placeable> = readonly { readonly of: T; readonly share: number }[]

/** A p99 objective under stated traffic. */
export interface TailGoal extends ServiceObjective {
  readonly burstiness: number
}

/**
 * Maximum utilisation, which is lower for burstier requests. The spare capacity works off the backlog of a one-second
 * stall, or of many workers that start with small batches, within about thirty seconds.
 */
function maxUtilisation(burstiness: number): number {
  return Math.max(0.5, 1 - 0.03 * Math.sqrt(burstiness))
}

/**
 * Whether at most `LATE_WINDOWS` of the windows are estimated to have more than 1 % late requests.
 *
 * Late requests come in groups, while the backlog is long. The estimate assumes that group sizes are exponential, with
 * a mean of b · (u / (1 - u))² requests at burstiness b and utilisation u. The sum of the groups then has the same
 * variance as with a Brownian motion. A Chernoff bound on the sum, times the number of groups if that is below 1,
 * agrees with simulations.
 */
function isInTime(queue: TailQueue, latencyMs: number): boolean {
  const { ratePerS, capacityPerS, burstiness } = queue
  const size = burstiness * (ratePerS / (capacityPerS - ratePerS)) ** 2
  const groups = (WINDOW * CAUTION * lateShare(queue, latencyMs)) / size
  const allowed = (0.01 * WINDOW) / size
  return (
    groups < allowed && Math.min(1, groups) * Math.exp(-((Math.sqrt(allowed) - Math.sqrt(groups)) ** 2)) <= LATE_WINDOWS
  )
}

/**
 * Burstiness of the requests of one instance that gets the fraction `part` at random: 1 + part · (burstiness - 1). If
 * requests are more regular than Poisson, it is taken to be 1, because random division destroys their regularity.
 */
export function splitBurstiness(burstiness: number, part: number = 1): number {
  return Math.max(1, 1 + part * (burstiness - 1))
}

/** Rate that an instance with its own queue answers in time, requests/s. */
export function rateInTime({ point, singleMs }: Placeable, { latencyMs, burstiness }: TailGoal): number {
  const capacityPerS = throughputOf(point)
  const { processes: workers, batchSize: largestBatch, latencyMs: fullBatchMs } = point
  const queue = { burstiness, capacityPerS, workers, largestBatch, fullBatchMs, singleMs }
  const highest = maxUtilisation(burstiness) * capacityPerS
  const inTime = (part: number) => isInTime({ ...queue, ratePerS: highest / part }, latencyMs)
  const part = minHolding(1, (value) => 2 * value, 1024, 5e-4, inTime)
  return part === null ? 0 : highest / part
}

/** Maximum fractions of a service's requests that one instance may get. */
const LARGEST_PARTS = [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64]

/**
 * Ways with a queue for each instance. Each has, for every slot, the point with the highest rate. The smaller the
 * fraction of requests that an instance gets, the less bursty they are, so each maximum fraction gives another way. The
 * way without a maximum is not included.
 */
export function splitWays<T extends Placeable>(placeables: readonly T[], goal: TailGoal): Way<T>[] {
  if (goal.burstiness <= 1) return []
  return LARGEST_PARTS.map((part) => {
    const best = new Map<string, Way<T>[number]>()
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

/** Maximum number of batch-time limits that are tried for a service. */
const MAX_GATES = 24

/**
 * Ways with one queue for all instances. Each combination of a maximum batch time and a minimum number of processes
 * selects the fastest point of each slot. Large instances may be left out, because many small workers wait less for
 * each other. Each way then needs the smallest capacity that is estimated to meet the objective.
 */
export function sharedWays<T extends Placeable>(placeables: readonly T[], goal: TailGoal): Way<T>[] {
  const ran = placeables.filter(({ point }) => point.latencyMs < goal.latencyMs)
  const slots = [...new Map(ran.map(({ slot, computeSlices }) => [slot, computeSlices]))]
  slots.sort(([a, x], [b, y]) => x - y || (a < b ? -1 : 1))
  const processes = [...new Set(ran.map(({ point }) => point.processes))].sort((a, b) => a - b)
  const gates = spread([...new Set(ran.map(({ point }) => point.latencyMs))].sort((a, b) => a - b))
  const ways = new Map<string, Way<T>>()
  for (const gateMs of gates) {
    for (const least of processes) {
      const fitting = ran.filter(({ point }) => point.latencyMs <= gateMs && point.processes >= least)
      const chosen: T[] = []
      for (const [slot] of slots) {
        const best = fastest(fitting.filter((each) => each.slot === slot))
        if (!best) continue
        chosen.push(best)
        const key = chosen.map((each) => ran.indexOf(each)).join()
        if (ways.has(key)) continue
        const capacityPerS = minCapacity(chosen, goal)
        if (capacityPerS === null) continue
        const way = chosen.map((of) => ({ of, share: throughputOf(of.point) / capacityPerS }))
        ways.set(key, way)
      }
    }
  }
  return undominated([...ways.values()])
}

function spread(values: readonly number[]): readonly number[] {
  if (values.length <= MAX_GATES) return values
  return Array.from({ length: MAX_GATES }, (_, i) => values[Math.round((i * (values.length - 1)) / (MAX_GATES - 1))]!)
}

/** The point with the highest throughput; of equal ones, that with the smaller batch. */
function fastest<T extends Placeable>(placeables: readonly T[]): T | undefined {
  return placeables.reduce<T | undefined>((best, each) => {
    const gain = best ? throughputOf(each.point) - throughputOf(best.point) : 1
    return gain > 0 || (gain === 0 && each.point.batchSize < best!.point.batchSize) ? each : best
  }, undefined)
}

/** Smallest capacity that meets the objective, requests/s; null if none does. */
function minCapacity(chosen: readonly Placeable[], { ratePerS, latencyMs, burstiness }: TailGoal): number | null {
  const highest = (of: (each: Placeable) => number) => Math.max(...chosen.map(of))
  const workerPerS = highest(({ point }) => point.processThroughput)
  const largestBatch = highest(({ point }) => point.batchSize)
  const fullBatchMs = highest(({ point }) => point.latencyMs)
  const shape = { ratePerS, burstiness, largestBatch, fullBatchMs, singleMs: highest((each) => each.singleMs) }
  const enough = (capacityPerS: number) => {
    // A lower bound on the number of workers, whichever instances make up the capacity.
    const workers = Math.max(1, Math.ceil((capacityPerS / workerPerS) * (1 - 1e-9)))
    return isInTime({ ...shape, capacityPerS, workers }, latencyMs)
  }
  const most = 200 * (ratePerS + workerPerS)
  return minHolding(ratePerS / maxUtilisation(burstiness), (value) => 1.5 * value + workerPerS, most, 5e-4, enough)
}

/**
 * The smallest value from which a condition holds: `next` enlarges a value until it does, then bisection finds the place.
 *
 * @returns null if it does not hold for any of these values up to `most`
 */
export function minHolding(
  from: number,
  next: (value: number) => number,
  most: number,
  precision: number,
  holds: (value: number) => boolean,
): number | null {
  if (holds(from)) return from
  let [low, high] = [from, next(from)]
  while (high <= most && !holds(high)) [low, high] = [high, next(high)]
  if (high > most) return null
  while (high - low > precision * high) {
    const middle = (low + high) / 2
    if (holds(middle)) high = middle
    else low = middle
  }
  return high
}

/** Drops ways if another way answers at least as much in each slot. */
function undominated<T extends Placeable>(ways: readonly Way<T>[]): Way<T>[] {
  const shares = ways.map((way) => new Map(way.map(({ of, share }) => [of.slot, share])))
  const atMost = (a: number, b: number) =>
    ways[a]!.every(({ of, share }) => share <= (shares[b]!.get(of.slot) ?? 0) + 1e-12)
  return ways.filter((_, a) => ways.every((_, b) => a === b || !atMost(a, b) || (atMost(b, a) && a < b)))
}

/** The points of one instance as placeables. Smaller batches of a point take the times that the other points give. */
export function placeablesOf(slot: string, computeSlices: number, points: readonly InstancePoint[]): Placeable[] {
  const rated = withBatchRates(points)
  return rated.map((point) => ({ slot, computeSlices, point, singleMs: batchTimes(rated, point)[1]! }))
}
