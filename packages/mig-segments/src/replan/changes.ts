import type { MappedGpu } from '@pctodl/mig-deploy'
import { latencyGateMs } from '../latency-gate.js'
import type { ServiceProfile } from '../profile.js'
import { type PlannedSegment, plannedAt } from '../segment-plan.js'
import type { ServiceDemand } from '../service-demand.js'
import { COVER_TOLERANCE } from '../solve/cover-problem.js'
import type { Changes, Located } from './migration.js'
import type { Layout, PackedSegment } from './pack-beside.js'

/** Finds how segments run: now, and from now on. */
export class PointChoice {
  readonly #profiles: ReadonlyMap<string, ServiceProfile>
  readonly #demands: ReadonlyMap<string, ServiceDemand>
  readonly #latencyShare: number | undefined

  constructor(profiles: readonly ServiceProfile[], served: readonly ServiceDemand[], latencyShare: number | undefined) {
    this.#profiles = new Map(profiles.map((profile) => [profile.model, profile]))
    this.#demands = new Map(served.map((demand) => [demand.objective.model, demand]))
    this.#latencyShare = latencyShare
  }

  /** As it runs now; throughput 0 where the profile does not know the point. */
  now(segment: MappedGpu['segments'][number]): PlannedSegment {
    const { model, sizeGpcs, start, batchSize, processes } = segment
    const point = this.#profiles
      .get(model)
      ?.points.find((p) => p.sizeGpcs === sizeGpcs && p.batchSize === batchSize && p.processes === processes)
    if (!point) return { model, sizeGpcs, start, batchSize, processes, throughput: 0, latencyMs: Number.NaN }
    return { ...plannedAt(model, point), start }
  }

  best({ model, sizeGpcs, start }: PackedSegment): PlannedSegment {
    return { ...plannedAt(model, this.#demands.get(model)!.best.get(sizeGpcs)!), start }
  }

  /** Whether a segment may run on as it does. */
  keepsLatency({ model, throughput, latencyMs }: PlannedSegment): boolean {
    const demand = this.#demands.get(model)
    return !!demand && throughput > 0 && latencyMs < latencyGateMs(demand.objective.latencyMs, this.#latencyShare)
  }

  rateOf(model: string): number {
    return this.#demands.get(model)!.objective.ratePerS
  }
}

/** What differs between the running map and a layout; segments that may run on as they do are left alone. */
export function changesTo(layout: Layout, current: readonly MappedGpu[], points: PointChoice): Changes {
  const key = (gpu: number, { model, sizeGpcs, start }: PackedSegment) => `${gpu} ${start} ${sizeGpcs} ${model}`
  const running = new Map<string, Located>()
  for (const { index, segments } of current) {
    for (const segment of segments) running.set(key(index, segment), { gpu: index, segment: points.now(segment) })
  }
  const kept: Located[] = []
  const restarted: { before: Located; after: Located }[] = []
  const created: Located[] = []
  const capacity = new Map<string, number>()
  const count = ({ model, throughput }: PlannedSegment) => capacity.set(model, (capacity.get(model) ?? 0) + throughput)
  for (const [gpu, segments] of layout) {
    for (const segment of segments) {
      const before = running.get(key(gpu, segment))
      running.delete(key(gpu, segment))
      const after = { gpu, segment: points.best(segment) }
      if (!before) created.push(after)
      else if (points.keepsLatency(before.segment)) kept.push(before)
      else restarted.push({ before, after })
      count(before && points.keepsLatency(before.segment) ? before.segment : after.segment)
    }
  }
  restartWhereShort(kept, restarted, capacity, points)
  return { kept, restarted, created, removed: [...running.values()] }
}

/** Segments may keep their batch sizes as long as the rate is covered; those that gain most change theirs first. */
function restartWhereShort(
  kept: Located[],
  restarted: { before: Located; after: Located }[],
  capacity: Map<string, number>,
  points: PointChoice,
): void {
  const gains = kept
    .map((before) => ({ before, after: { gpu: before.gpu, segment: points.best(before.segment) } }))
    .map((pair) => ({ ...pair, gain: pair.after.segment.throughput - pair.before.segment.throughput }))
    .filter(({ gain }) => gain > 0)
    .sort((a, b) => b.gain - a.gain)
  for (const { before, after, gain } of gains) {
    const { model } = before.segment
    if (capacity.get(model)! >= points.rateOf(model) * (1 - COVER_TOLERANCE)) continue
    capacity.set(model, capacity.get(model)! + gain)
    kept.splice(kept.indexOf(before), 1)
    restarted.push({ before, after })
  }
}
