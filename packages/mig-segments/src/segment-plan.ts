import type { Placement } from '@pctodl/mig-deploy'
import type { UnservedService } from './fleet/fleet-plan.js'
import type { ServiceObjective } from './profile.js'

/** A MIG instance with the processes that serve one model in it. */
export interface PlannedSegment extends Placement {
  readonly model: string
  readonly batchSize: number
  /** MPS processes in the instance. */
  readonly processes: number
  /** Items/s of the segment. */
  readonly throughput: number
  /** Time of one batch, ms. */
  readonly latencyMs: number
  /** Power added to an idle board while all its processes run, W; absent where it was not measured. */
  readonly powerW?: number
}

/** The segments of one GPU, in order of their start slots. */
export interface PlannedGpu {
  /** Index over the whole cluster, from 0. */
  readonly index: number
  readonly segments: readonly PlannedSegment[]
}

/** A service of the plan. */
export interface ServedService extends ServiceObjective {
  readonly segments: number
  readonly gpcs: number
  /** Items/s of all its segments; at least `ratePerS`. */
  readonly capacity: number
}

/** Which segments run where. */
export interface SegmentPlan {
  readonly gpus: readonly PlannedGpu[]
  readonly served: readonly ServedService[]
  /** Services that no instance can serve within their latency; all others are planned. */
  readonly unserved: readonly UnservedService[]
  /** GPUs with at least one segment. */
  readonly gpuCount: number
  /** Compute slices in use. */
  readonly gpcCount: number
}

/** Count the GPUs in use and their compute slices. */
export function countPlan(gpus: readonly PlannedGpu[]): Pick<SegmentPlan, 'gpuCount' | 'gpcCount'> {
  let gpcCount = 0
  for (const { segments } of gpus) for (const { sizeGpcs } of segments) gpcCount += sizeGpcs
  return { gpuCount: gpus.filter(({ segments }) => segments.length > 0).length, gpcCount }
}

/** Capacity, segments and GPCs of each service, in the order of the objectives. */
export function servedServices(objectives: readonly ServiceObjective[], gpus: readonly PlannedGpu[]): ServedService[] {
  const totals = new Map<string, { segments: number; gpcs: number; capacity: number }>()
  for (const { segments } of gpus) {
    for (const { model, sizeGpcs, throughput } of segments) {
      const total = totals.get(model) ?? { segments: 0, gpcs: 0, capacity: 0 }
      total.segments++
      total.gpcs += sizeGpcs
      total.capacity += throughput
      totals.set(model, total)
    }
  }
  return objectives.map((objective) => ({
    ...objective,
    ...(totals.get(objective.model) ?? { segments: 0, gpcs: 0, capacity: 0 }),
  }))
}
