import { type SegmentSize, segmentSizes } from '@pctodl/platform'

/**
 * Measurements of a model, in the same form as in `@pctodl/mig-segments`: throughput of one process in items/s, latency
 * in ms.
 */
export interface SegmentProfile {
  readonly model: string
  readonly points: readonly {
    /** Size of the MIG instance, GPCs. Points without a size are skipped. */
    readonly sizeGpcs?: SegmentSize
    readonly batchSize: number
    readonly processes: number
    readonly processThroughput: number
    readonly latencyMs: number
  }[]
}

export interface SegmentObjective {
  readonly model: string
  readonly ratePerS: number
  readonly latencyMs: number
}

/** A measured point, rounded to binary32 as in the published code. */
export interface PublishedPoint {
  readonly sizeGpcs: SegmentSize
  readonly batchSize: number
  readonly processes: number
  /** Throughput of all processes of the segment, items/s. */
  readonly throughput: number
  readonly latencyMs: number
}

/** What the Segment Configurator chooses for one service. */
export interface Configured {
  readonly objective: SegmentObjective
  readonly best: ReadonlyMap<SegmentSize, PublishedPoint>
  /** The optimal triplet (size, batch, processes): the point with the highest throughput per GPC. */
  readonly optimal: PublishedPoint
  /** Number of segments that use the optimal triplet. */
  readonly optimalCount: number
  /** The point of the one further segment that serves the remaining rate. */
  readonly last: PublishedPoint
}

const f32 = Math.fround

/**
 * Chooses the optimal triplet and the number of segments for a service, as the published code does. Every quantity is
 * rounded to binary32 if the published code stores it as a `float`.
 *
 * @returns null if no point's latency is below 45 % of the objective
 */
export function configure(profile: SegmentProfile, objective: SegmentObjective): Configured | null {
  const gateMs = f32(f32(f32(objective.latencyMs) / 2) * 0.9)
  const candidates = profile.points
    .flatMap(toPublished)
    .filter((point) => point.throughput > 0 && point.latencyMs < gateMs)
    .sort((a, b) => a.sizeGpcs - b.sizeGpcs || a.batchSize - b.batchSize || a.processes - b.processes)
  const best = new Map<SegmentSize, PublishedPoint>()
  let optimal: PublishedPoint | undefined
  for (const point of candidates) {
    const before = best.get(point.sizeGpcs)
    if (!before || point.throughput > before.throughput) best.set(point.sizeGpcs, point)
    if (!optimal || perGpc(point) > perGpc(optimal)) optimal = point
  }
  if (!optimal) return null
  const rate = f32(objective.ratePerS)
  let optimalCount = Math.floor(f32(rate / optimal.throughput))
  if (optimalCount > 0 && rate % optimal.throughput === 0) optimalCount--
  const rest = f32(rate - f32(optimalCount * optimal.throughput))
  const last = segmentSizes.map((size) => best.get(size)).find((point) => point && point.throughput >= rest)
  return { objective, best, optimal, optimalCount, last: last ?? optimal }
}

function perGpc({ throughput, sizeGpcs }: PublishedPoint): number {
  return f32(throughput / sizeGpcs)
}

function toPublished({
  sizeGpcs,
  batchSize,
  processes,
  processThroughput,
  latencyMs,
}: SegmentProfile['points'][number]): PublishedPoint[] {
  if (sizeGpcs === undefined) return []
  const point = {
    sizeGpcs,
    batchSize,
    processes,
    throughput: f32(f32(processThroughput) * processes),
    latencyMs: f32(f32(latencyMs / 1000) * 1000),
  }
  return [point]
}
