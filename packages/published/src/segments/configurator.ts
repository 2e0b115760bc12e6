import { type SegmentSize, segmentSizes } from '@pctodl/platform'

/** A profile of the same form as in `@pctodl/mig-segments`: items/s of one process, times in ms. */
export interface SegmentProfile {
  readonly model: string
  readonly points: readonly {
    /** Size of the point's instance, GPCs; points without a size are skipped. */
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

/** A point in the published code's binary32 precision. */
export interface PublishedPoint {
  readonly sizeGpcs: SegmentSize
  readonly batchSize: number
  readonly processes: number
  /** Throughput of the segment, items/s. */
  readonly throughput: number
  readonly latencyMs: number
}

/** The Segment Configurator's result for one service. */
export interface Configured {
  readonly objective: SegmentObjective
  readonly best: ReadonlyMap<SegmentSize, PublishedPoint>
  /** The optimal triplet (size, batch, processes): the point with the highest throughput per GPC. */
  readonly optimal: PublishedPoint
  /** Number of segments of the optimal triplet. */
  readonly optimalCount: number
  /** The single segment that serves the remaining rate. */
  readonly last: PublishedPoint
}

const f32 = Math.fround

/**
 * The published code's choice of the optimal triplet and its demand matching. Every quantity is rounded to binary32
 * where the published code stores a `float`.
 *
 * @returns null if no point meets the latency
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
