import { type SegmentSize, segmentSizes } from '@pctodl/mig-deploy'
import { type ProfilePoint, type ServiceObjective, type ServiceProfile, throughputOf } from '../profile.js'
import { batchTimes } from './batch-times.js'
import { lateShare, type TailQueue } from './late-share.js'
import { leastHolding } from './least-holding.js'

/**
 * Requests that the estimate may call late: half of what a p99 objective leaves. The estimate is for workers that are alike and calm; the
 * other half is for what it does not see, workers of several kinds above all.
 */
export const LATE_SHARE = 0.005

/**
 * How the requests of a service reach its segments. `shared`: all its processes take from one queue. `split`: each request is sent
 * to one segment by chance, in proportion to `PlannedSegment.throughput`, and waits in that one's queue.
 */
export type Dispatch = 'shared' | 'split'

/** One way to keep a service's objective: of each size of instance a point, and what all its segments must be able to answer. */
export interface TailOption {
  readonly best: ReadonlyMap<SegmentSize, ProfilePoint>
  /** Items/s that the segments must have together: the rate, and room for what comes at once. */
  readonly capacityPerS: number
}

/**
 * Rate over capacity at most, less the more unevenly requests come: what a stall of a second leaves behind, or many workers that begin
 * with small batches at once, is caught up within some thirty.
 */
function mostUtilisation(burstiness: number): number {
  return Math.max(0.5, 1 - 0.03 * Math.sqrt(burstiness))
}

/** Longest batches considered of a service, spread over those that there are. */
const MOST_GATES = 24

/**
 * Ways to keep a service's objective; none where it cannot be kept.
 *
 * @param mostLate share of its requests that the estimate may call late
 */
export function waysToKeep(
  profile: ServiceProfile,
  objective: ServiceObjective,
  burstiness: number,
  dispatch: Dispatch,
  mostLate: number = LATE_SHARE,
): TailOption[] {
  if (dispatch === 'shared') return tailOptions(profile, objective, burstiness, mostLate)
  // The less of the requests a segment gets, the less uneven they are: each largest part is a way of its own.
  const parts = burstiness > 1 ? LARGEST_PARTS : [1]
  return undominated(parts.flatMap((part) => splitOption(profile, objective, burstiness, part, mostLate) ?? []))
}

/** Parts of a service's requests that one segment may get at most, of which one is chosen where requests come in bursts. */
const LARGEST_PARTS = [1, 1 / 2, 1 / 3, 1 / 4, 1 / 6, 1 / 8, 1 / 12, 1 / 16, 1 / 24, 1 / 32, 1 / 64, 1 / 128]

/**
 * How unevenly the requests of one segment come. Chance sends a part of them there, whose burstiness is 1 + part · (burstiness - 1); of steady
 * requests it is taken to be 1, since they lose their steadiness on the way.
 */
export function splitBurstiness(burstiness: number, part: number = 1): number {
  return Math.max(1, 1 + part * (burstiness - 1))
}

/**
 * The way to keep a p99 objective with segments that have a queue each: of each size the point that answers most requests/s in
 * time, and no more than a part of all. The `processThroughput` of these points is a process's part of that rate.
 *
 * @returns none where no segment answers any rate in time
 */
function splitOption(
  profile: ServiceProfile,
  { ratePerS, latencyMs }: ServiceObjective,
  burstiness: number,
  part: number,
  mostLate: number,
): TailOption | undefined {
  const most = part * ratePerS
  const best = new Map<SegmentSize, ProfilePoint>()
  for (const point of profile.points) {
    if (!(point.processThroughput > 0 && point.latencyMs < latencyMs)) continue
    const before = best.get(point.sizeGpcs)
    if (before && Math.min(most, throughputOf(point)) <= throughputOf(before)) continue
    const inTime = rateInTime(profile, point, latencyMs, splitBurstiness(burstiness, part), mostLate)
    const rate = part < 1 ? Math.min(most, inTime) : inTime
    if (rate === 0 || (before && rate <= throughputOf(before))) continue
    best.set(point.sizeGpcs, { ...point, processThroughput: rate / point.processes })
  }
  return best.size === 0 ? undefined : { best, capacityPerS: ratePerS }
}

/** Requests/s that a segment alone answers in time. */
export function rateInTime(
  profile: ServiceProfile,
  point: ProfilePoint,
  latencyMs: number,
  burstiness: number,
  mostLate: number = LATE_SHARE,
): number {
  const queue: Omit<TailQueue, 'ratePerS'> = {
    burstiness,
    capacityPerS: throughputOf(point),
    workers: point.processes,
    largestBatch: point.batchSize,
    fullBatchMs: point.latencyMs,
    singleMs: batchTimes(profile, point)[1]!,
  }
  let low = 0
  let high = mostUtilisation(burstiness) * queue.capacityPerS
  if (lateShare({ ...queue, ratePerS: high }, latencyMs) <= mostLate) return high
  while (high - low > 5e-4 * high && high > 1e-3 * queue.capacityPerS) {
    const middle = (low + high) / 2
    if (lateShare({ ...queue, ratePerS: middle }, latencyMs) <= mostLate) low = middle
    else high = middle
  }
  return low
}

/**
 * Ways to keep a p99 objective with workers that share one queue. A longest batch time and a least number of processes leave of
 * each size one point, that of the highest throughput; sizes above a largest one may be left out, since more and smaller
 * workers wait less for each other. Each way then needs the least capacity at which it is estimated to.
 *
 * @returns none where every batch takes longer than the objective; no way is in it that another needs less of each size for
 */
function tailOptions(
  profile: ServiceProfile,
  { ratePerS, latencyMs }: ServiceObjective,
  burstiness: number,
  mostLate: number,
): TailOption[] {
  const ran = profile.points.filter((point) => point.processThroughput > 0 && point.latencyMs < latencyMs)
  const singleMs = new Map(ran.map((point) => [point, batchTimes(profile, point)[1]!]))
  const processes = [...new Set(ran.map((point) => point.processes))].sort((a, b) => a - b)
  const options = new Map<string, TailOption>()
  for (const gateMs of spread([...new Set(ran.map((point) => point.latencyMs))].sort((a, b) => a - b))) {
    for (const least of processes) {
      const best = new Map<SegmentSize, ProfilePoint>()
      for (const size of segmentSizes) {
        const point = bestPoint(ran, size, gateMs, least)
        if (!point) continue
        best.set(size, point)
        const key = [...best.values()].map((each) => `${each.sizeGpcs} ${each.batchSize} ${each.processes}`).join()
        if (options.has(key)) continue
        const capacityPerS = leastCapacity(best, singleMs, ratePerS, latencyMs, burstiness, mostLate)
        if (capacityPerS !== null) options.set(key, { best: new Map(best), capacityPerS })
      }
    }
  }
  return undominated([...options.values()])
}

function spread(values: readonly number[]): readonly number[] {
  if (values.length <= MOST_GATES) return values
  return Array.from({ length: MOST_GATES }, (_, i) => values[Math.round((i * (values.length - 1)) / (MOST_GATES - 1))]!)
}

function bestPoint(ran: readonly ProfilePoint[], size: SegmentSize, gateMs: number, leastProcesses: number) {
  let best: ProfilePoint | undefined
  for (const point of ran) {
    if (point.sizeGpcs !== size || point.latencyMs > gateMs || point.processes < leastProcesses) continue
    const gain = best ? throughputOf(point) - throughputOf(best) : 1
    if (gain > 0 || (gain === 0 && point.batchSize < best!.batchSize)) best = point
  }
  return best
}

/** Null where no capacity keeps the objective. */
function leastCapacity(
  best: ReadonlyMap<SegmentSize, ProfilePoint>,
  singleMs: ReadonlyMap<ProfilePoint, number>,
  ratePerS: number,
  latencyMs: number,
  burstiness: number,
  mostLate: number,
): number | null {
  const points = [...best.values()]
  const fastest = Math.max(...points.map((point) => point.processThroughput))
  const fullBatchMs = Math.max(...points.map((point) => point.latencyMs))
  const largestBatch = Math.max(...points.map((point) => point.batchSize))
  const oneMs = Math.max(...points.map((point) => singleMs.get(point)!))
  const queue = (capacityPerS: number): TailQueue => ({
    ratePerS,
    burstiness,
    capacityPerS,
    // So many at least, whichever segments make up the capacity.
    workers: Math.max(1, Math.ceil((capacityPerS / fastest) * (1 - 1e-9))),
    largestBatch,
    fullBatchMs,
    singleMs: oneMs,
  })
  const enough = (capacityPerS: number) => lateShare(queue(capacityPerS), latencyMs) <= mostLate
  const least = ratePerS / mostUtilisation(burstiness)
  if (enough(least)) return least
  let low = least
  let high = least
  do {
    low = high
    high = 1.5 * high + fastest
    if (high > 200 * (ratePerS + fastest)) return null
  } while (!enough(high))
  return leastHolding(low, high, 5e-4, enough)
}

/** Without those of which another needs no more of any size. */
function undominated(options: readonly TailOption[]): TailOption[] {
  const shares = options.map(({ best, capacityPerS }) =>
    segmentSizes.map((size) => (best.has(size) ? throughputOf(best.get(size)!) / capacityPerS : 0)),
  )
  return options.filter((_, a) =>
    shares.every(
      (of, b) =>
        a === b ||
        of.some((share, s) => share < shares[a]![s]! - 1e-12) ||
        (of.every((share, s) => share <= shares[a]![s]! + 1e-12) && a < b),
    ),
  )
}
