import { assignStarts, placementConflict } from '@pctodl/mig-deploy'
import { checkFleet } from '../fleet/check-fleet.js'
import { unserved } from '../fleet/explain-unserved.js'
import { fleetOf } from '../fleet/one-board.js'
import { assertObjectives } from '../fleet/plan-fleet.js'
import type { ServiceObjective, ServiceProfile } from '../profile.js'
import { countPlan, type PlannedGpu, type PlannedSegment, type SegmentPlan, servedServices } from '../segment-plan.js'
import { allocate, pointOfSize } from './allocator.js'
import { type Configured, configure } from './configurator.js'
import type { GpuTable } from './gpu-table.js'

export interface PublishedOptions {
  /**
   * `legal` (default): start slots that the published code chose where they are legal, others where they overlap.
   * `as-published`: overlaps and all; not for deployment.
   */
  readonly starts?: 'legal' | 'as-published'
  /** Run the published optimisation pass. Default true. */
  readonly optimize?: boolean
}

/** What the published algorithm makes of a demand, including what it gets wrong. */
export interface PublishedPlan extends SegmentPlan {
  /** Services that it lost, wholly or in part: their capacity is below their rate. */
  readonly underServed: readonly string[]
  /** GPUs whose published start slots overlap. */
  readonly illegalGpus: number
}

/**
 * The published scheduler: greedy per service, best fit in GPCs, one pass that dissolves lightly used GPUs. Kept to compare
 * with and to reproduce published maps; GPU indices are those of the published code, holes included.
 *
 * @throws InvalidInputError for two objectives of one model
 */
export function planAsPublished(
  profiles: readonly ServiceProfile[],
  objectives: readonly ServiceObjective[],
  { starts = 'legal', optimize = true }: PublishedOptions = {},
): PublishedPlan {
  assertObjectives(objectives)
  const configured = objectives.flatMap((objective) => {
    const profile = profiles.find(({ model }) => model === objective.model)
    return (profile && configure(profile, objective)) ?? []
  })
  const board = checkFleet(fleetOf('A100', profiles))
  const table = allocate(configured, optimize)
  let illegalGpus = 0
  const gpus: PlannedGpu[] = []
  for (let index = 0; index < table.length; index++) {
    const published = segmentsOf(table, index, configured)
    if (published.length === 0) continue
    const illegal = placementConflict(published) !== null
    if (illegal) illegalGpus++
    gpus.push({ index, segments: illegal && starts === 'legal' ? withLegalStarts(published) : published })
  }
  const served = servedServices(
    configured.map(({ objective }) => objective),
    gpus,
  )
  return {
    gpus,
    served,
    unserved: objectives
      .filter((objective) => !configured.some((each) => each.objective === objective))
      .map((objective) => unserved(objective, board, 'latency', null)),
    ...countPlan(gpus),
    underServed: served.filter(({ capacity, ratePerS }) => capacity < ratePerS * (1 - 1e-6)).map(({ model }) => model),
    illegalGpus,
  }
}

function segmentsOf(table: GpuTable, gpu: number, configured: readonly Configured[]): PlannedSegment[] {
  return table.slots(gpu).flatMap((segment, start) => {
    if (!segment) return []
    const service = configured[segment.service]!
    return { ...pointOfSize(service, segment.sizeGpcs), model: service.objective.model, start }
  })
}

function withLegalStarts(segments: readonly PlannedSegment[]): PlannedSegment[] {
  const starts = assignStarts(segments.map(({ sizeGpcs }) => sizeGpcs))!
  return segments.map((segment, i) => ({ ...segment, start: starts[i]! })).sort((a, b) => a.start - b.start)
}
