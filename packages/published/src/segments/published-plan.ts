import { assignStarts, InvalidInputError, placementConflict } from '@pctodl/platform'
import { allocate, pointOfSize } from './allocator.js'
import {
  type Configured,
  configure,
  type PublishedPoint,
  type SegmentObjective,
  type SegmentProfile,
} from './configurator.js'
import type { GpuTable } from './gpu-table.js'

export interface PublishedOptions {
  /**
   * `legal` (default): keeps the published start slots of a GPU if no two segments overlap, otherwise assigns others.
   * `as-published`: keeps them even if segments overlap, which cannot be deployed.
   */
  readonly starts?: 'legal' | 'as-published'
  /** Whether to run the published second pass, which dissolves lightly used GPUs. Default true. */
  readonly optimize?: boolean
}

/** A MIG instance that starts at compute slice `start`, and the MPS processes of one model in it. */
export interface PublishedSegment extends PublishedPoint {
  readonly model: string
  readonly start: number
}

/** The published algorithm's plan for a demand, including its errors. */
export interface PublishedPlan {
  /**
   * GPUs in the form that `formatDeploymentMap` of `@pctodl/mig-segments/deploy` takes. Indices are those of the published
   * algorithm, so some numbers are missing.
   */
  readonly gpus: readonly { readonly index: number; readonly segments: readonly PublishedSegment[] }[]
  readonly gpuCount: number
  /** Compute slices in use. */
  readonly gpcCount: number
  /**
   * Services without a profile, or without a point whose latency is below 45 % of their objective, the published limit.
   */
  readonly unserved: readonly string[]
  /** Services whose segments serve less than their rate, because the algorithm lost segments. */
  readonly underServed: readonly string[]
  /** Number of GPUs on which the published start slots make segments overlap. */
  readonly illegalGpus: number
}

/**
 * Plans with ParvaGPU's published scheduler. It chooses segments for each service separately, places each on the GPU
 * with the fewest sufficient free GPCs, and dissolves lightly used GPUs in one further pass.
 *
 * @throws InvalidInputError for two objectives of one model
 */
export function planAsPublished(
  profiles: readonly SegmentProfile[],
  objectives: readonly SegmentObjective[],
  { starts = 'legal', optimize = true }: PublishedOptions = {},
): PublishedPlan {
  const models = objectives.map(({ model }) => model)
  const twice = models.find((model, i) => models.indexOf(model) < i)
  if (twice !== undefined) {
    throw new InvalidInputError('objectives', twice, 'one objective for each model; add the rates up')
  }
  const configured = objectives.flatMap((objective) => {
    const profile = profiles.find(({ model }) => model === objective.model)
    return (profile && configure(profile, objective)) ?? []
  })
  const table = allocate(configured, optimize)
  const published = Array.from({ length: table.length }, (_, index) => ({
    index,
    segments: segmentsOf(table, index, configured),
  })).filter(({ segments }) => segments.length > 0)
  const isLegal = (segments: readonly PublishedSegment[]) => placementConflict(segments) === null
  const segments = published.flatMap((gpu) => gpu.segments)
  const capacityOf = (model: string) =>
    segments.reduce((sum, segment) => sum + (segment.model === model ? segment.throughput : 0), 0)
  return {
    gpus: published.map(({ index, segments }) => ({
      index,
      segments: starts === 'as-published' || isLegal(segments) ? segments : withLegalStarts(segments),
    })),
    gpuCount: published.length,
    gpcCount: segments.reduce((sum, { sizeGpcs }) => sum + sizeGpcs, 0),
    unserved: models.filter((model) => !configured.some(({ objective }) => objective.model === model)),
    underServed: configured.flatMap(({ objective: { model, ratePerS } }) =>
      capacityOf(model) < ratePerS * (1 - 1e-6) ? [model] : [],
    ),
    illegalGpus: published.filter(({ segments }) => !isLegal(segments)).length,
  }
}

function segmentsOf(table: GpuTable, gpu: number, configured: readonly Configured[]): PublishedSegment[] {
  return table.slots(gpu).flatMap((segment, start) => {
    if (!segment) return []
    const service = configured[segment.service]!
    return { ...pointOfSize(service, segment.sizeGpcs), model: service.objective.model, start }
  })
}

function withLegalStarts(segments: readonly PublishedSegment[]): PublishedSegment[] {
  const starts = assignStarts(segments.map(({ sizeGpcs }) => sizeGpcs))!
  return segments.map((segment, i) => ({ ...segment, start: starts[i]! })).sort((a, b) => a.start - b.start)
}
