import type { MappedGpu } from '@pctodl/mig-deploy'
import { placementConflict } from '@pctodl/mig-deploy'
import { InvalidInputError } from '@pctodl/platform'
import { type HeuristicOptions, planHeuristically, TooFewGpusError } from '../plan-segments.js'
import type { ServiceObjective, ServiceProfile } from '../profile.js'
import { countPlan, type SegmentPlan, servedServices } from '../segment-plan.js'
import { demandsOf, type ServiceDemand } from '../service-demand.js'
import { coverProblem } from '../solve/cover-problem.js'
import { changesTo, PointChoice } from './changes.js'
import { countsOf, gpusOf, layoutFor } from './layout-for.js'
import { type Changes, type MigrationStep, migrationOrder } from './migration.js'
import { type Layout, type PackedSegment, usedGpus } from './pack-beside.js'
import { targetCounts } from './target-counts.js'

export interface ReplanOptions extends Omit<HeuristicOptions, 'powerCap'> {
  /**
   * Move segments until the GPUs in use are as few as a fresh plan's. Default false: as many as now may stay in use, and more
   * only as needed.
   */
  readonly consolidate?: boolean
  /**
   * Segments created that one GPU more is worth, at least 0: another GPU is taken where it saves more of them than this. Default: none is
   * taken to save moves.
   */
  readonly movesPerGpu?: number
}

/** The next map, and the way to it. */
export interface Replan extends SegmentPlan {
  /** GPUs that a plan from scratch would use. */
  readonly freshGpus: number
  /** Segments created, in new places. */
  readonly created: number
  /** Segments whose processes start again in the same instance. */
  readonly restarted: number
  readonly removed: number
  readonly kept: number
  /** GPUs on which an instance is created or removed. */
  readonly reconfiguredGpus: number
  /** In an order that keeps services up; see `MigrationStep.shortfall`. */
  readonly steps: readonly MigrationStep[]
}

/**
 * Change a running map to new objectives with few segments moved: segments that can go on stay where they are, surplus goes,
 * what is short is placed beside them, and only where the GPUs do not suffice are segments moved.
 *
 * @param current the map that runs now
 * @param objectives of all services, changed ones and others; a model without one is taken down
 * @throws InvalidInputError for a current map with overlapping instances
 * @throws TooFewGpusError where `maxGpus` does not suffice
 */
export function replan(
  current: readonly MappedGpu[],
  profiles: readonly ServiceProfile[],
  objectives: readonly ServiceObjective[],
  options: ReplanOptions = {},
): Replan {
  for (const { index, segments } of current) {
    const conflict = placementConflict(segments)
    if (conflict !== null)
      throw new InvalidInputError(`current map, GPU ${index}`, conflict, 'instances that do not overlap')
  }
  const fresh = planHeuristically(profiles, objectives, options)
  const inUse = current.filter(({ segments }) => segments.length > 0).length
  const wantedGpus = options.consolidate ? fresh.gpuCount : Math.max(inUse, fresh.gpuCount)
  const maxGpus = Math.min(options.maxGpus ?? Number.POSITIVE_INFINITY, wantedGpus)
  const sorted = [...objectives].sort((a, b) => (a.model < b.model ? -1 : 1))
  const { served, unserved } = demandsOf(profiles, sorted, options.latencyShare)

  const layout = cheapestLayout(current, served, countsOf(fresh.gpus, served), maxGpus, options)
  const limit = options.movesPerGpu === undefined ? maxGpus : (options.maxGpus ?? Number.POSITIVE_INFINITY)
  if (usedGpus(layout) > limit) throw new TooFewGpusError(limit, usedGpus(layout), fresh.lowerBoundGpus)
  const points = new PointChoice(profiles, served, options.latencyShare)
  const changes = changesTo(layout, current, points)
  const located = [...changes.kept, ...changes.restarted.map(({ after }) => after), ...changes.created]
  const gpus = gpusOf(located)
  const needed = new Map(
    served.map(({ objective: { model, ratePerS } }) => [model, Math.min(ratePerS, capacityNow(changes, model))]),
  )
  return {
    gpus,
    served: servedServices(
      served.map(({ objective }) => objective),
      gpus,
    ),
    unserved,
    ...countPlan(gpus),
    freshGpus: fresh.gpuCount,
    created: changes.created.length,
    restarted: changes.restarted.length,
    removed: changes.removed.length,
    kept: changes.kept.length,
    reconfiguredGpus: new Set([...changes.created, ...changes.removed].map(({ gpu }) => gpu)).size,
    steps: migrationOrder(changes, needed),
  }
}

/** The layout on `maxGpus`, or on more where each of them saves more moves than it costs. */
function cheapestLayout(
  current: readonly MappedGpu[],
  served: readonly ServiceDemand[],
  fresh: Int32Array,
  maxGpus: number,
  { movesPerGpu = Number.POSITIVE_INFINITY, maxGpus: most = Number.POSITIVE_INFINITY }: ReplanOptions,
): Layout {
  if (!(movesPerGpu >= 0)) throw new InvalidInputError('movesPerGpu', movesPerGpu, 'a number of segments of at least 0')
  const running = runningKeys(current)
  let best = nextLayout(current, served, fresh, maxGpus)
  let cost = createdIn(best, running)
  for (let more = 1; maxGpus + more <= most && more * movesPerGpu < cost && more <= MOST_MORE_GPUS; more++) {
    const layout = nextLayout(current, served, fresh, maxGpus + more)
    const moved = createdIn(layout, running) + movesPerGpu * Math.max(0, usedGpus(layout) - maxGpus)
    if (moved >= cost) continue
    best = layout
    cost = moved
  }
  return best
}

/** GPUs that are tried at most to save moves. */
const MOST_MORE_GPUS = 32

function runningKeys(current: readonly MappedGpu[]): Set<string> {
  return new Set(current.flatMap(({ index, segments }) => segments.map((segment) => keyOf(index, segment))))
}

/** Segments of a layout that do not run yet. */
function createdIn(layout: Layout, running: ReadonlySet<string>): number {
  let created = 0
  for (const [gpu, segments] of layout) {
    for (const segment of segments) if (!running.has(keyOf(gpu, segment))) created++
  }
  return created
}

/** Choose what stays, then place the rest beside it. */
function nextLayout(
  current: readonly MappedGpu[],
  served: readonly ServiceDemand[],
  fresh: Int32Array,
  maxGpus: number,
): Layout {
  const targets = targetCounts(coverProblem(served), countsOf(current, served), fresh, maxGpus)
  const running = runningKeys(current)
  let best: { layout: Layout; excess: number; created: number } | undefined
  for (const target of targets) {
    const layout = layoutFor(current, served, target, maxGpus)
    const excess = Math.max(0, usedGpus(layout) - maxGpus)
    const created = createdIn(layout, running)
    if (best && (excess - best.excess || created - best.created) >= 0) continue
    best = { layout, excess, created }
  }
  return best!.layout
}

function keyOf(gpu: number, { model, sizeGpcs, start }: PackedSegment): string {
  return `${gpu} ${start} ${sizeGpcs} ${model}`
}

function capacityNow({ kept, restarted, removed }: Changes, model: string): number {
  return [...kept, ...restarted.map(({ before }) => before), ...removed]
    .filter(({ segment }) => segment.model === model)
    .reduce((sum, { segment }) => sum + segment.throughput, 0)
}
