import type { SegmentSize } from '@pctodl/mig-deploy'
import { InvalidInputError, PctodlError } from '@pctodl/platform'
import { packUnderCap } from './power/pack-under-cap.js'
import { boardPowerW, type PowerCap, profilesWithinCap } from './power/power-cap.js'
import type { ServiceObjective, ServiceProfile } from './profile.js'
import { countPlan, plannedAt, type SegmentPlan, servedServices } from './segment-plan.js'
import { type Demands, demandsOf } from './service-demand.js'
import { coverProblem } from './solve/cover-problem.js'
import { type CountSolution, solveHeuristically } from './solve/heuristic.js'
import { fewestGpcs, leanPlan } from './solve/lean-plan.js'
import { packSegments } from './solve/pack-boards.js'
import { priceBound } from './solve/price-bound.js'
import { solveExactly } from './solve/solve-exactly.js'

export interface HeuristicOptions {
  /** GPUs that there are. Default: as many as needed. */
  readonly maxGpus?: number
  /** Share of a latency objective that computing a batch may take. Default 0.45, as published. */
  readonly latencyShare?: number
  /** Order of the search's random steps. Default 1. */
  readonly seed?: number
  /** What each board may draw while all its processes run. Default: no cap. Needs points with measured power. */
  readonly powerCap?: PowerCap
}

export interface PlanOptions extends HeuristicOptions {
  /**
   * Most iterations of the simplex method for each integer program: work and not time, so that a plan is the same on any
   * machine. Default 50 000, some seconds; what was not proved in them shows in the bounds. 0: no integer programs.
   */
  readonly mostIterations?: number
}

/** A plan with what is known of the best there is. */
export interface BoundedPlan extends SegmentPlan {
  /** No plan for the same services has fewer GPUs. Equal to `gpuCount`: proved. */
  readonly lowerBoundGpus: number
  /** No plan with as many GPUs has fewer compute slices. Equal to `gpcCount`: proved. */
  readonly lowerBoundGpcs: number
  /** The cap of a plan that has one, with the watts of the board that draws most. */
  readonly power?: PowerCap & { readonly highestW: number }
}

export const DEFAULT_MOST_ITERATIONS = 50_000

/** The services need more GPUs than there are. */
export class TooFewGpusError extends PctodlError {
  readonly maxGpus: number
  /** GPUs of the best plan found. */
  readonly neededGpus: number
  /** No plan has fewer. */
  readonly lowerBoundGpus: number

  constructor(maxGpus: number, neededGpus: number, lowerBoundGpus: number) {
    const proof = lowerBoundGpus > maxGpus ? 'no plan needs fewer than' : 'the bound on any plan is'
    super(
      'TOO_FEW_GPUS',
      `the plan needs ${neededGpus} GPUs and there are ${maxGpus} (${proof} ${lowerBoundGpus}); add GPUs or lower rates`,
    )
    this.maxGpus = maxGpus
    this.neededGpus = neededGpus
    this.lowerBoundGpus = lowerBoundGpus
  }
}

/**
 * Plan in milliseconds: column generation for the bound, rounding and local search for the plan.
 *
 * @throws InvalidInputError for options and objectives out of range
 * @throws TooFewGpusError where `maxGpus` does not suffice
 */
export function planHeuristically(
  profiles: readonly ServiceProfile[],
  objectives: readonly ServiceObjective[],
  options: HeuristicOptions = {},
): BoundedPlan {
  const { demands, problem, start, bound } = solveFirst(profiles, objectives, options)
  const { solution, lowerBoundGpcs } = leanPlan(problem, start, options.seed)
  return finish(demands, solution, bound.gpus, lowerBoundGpcs, options)
}

/**
 * Plan as few GPUs as can be, and as few compute slices on them: the heuristic first, integer programs for what its bounds
 * leave open.
 *
 * @throws InvalidInputError for options and objectives out of range
 * @throws TooFewGpusError where `maxGpus` does not suffice
 */
export async function planSegments(
  profiles: readonly ServiceProfile[],
  objectives: readonly ServiceObjective[],
  options: PlanOptions = {},
): Promise<BoundedPlan> {
  const { mostIterations = DEFAULT_MOST_ITERATIONS } = options
  assertLimits({ mostIterations })
  const { demands, problem, start, bound } = solveFirst(profiles, objectives, options)
  const { solution, lowerBoundGpus, lowerBoundGpcs } = await solveExactly(problem, start, bound, mostIterations)
  return finish(demands, solution, lowerBoundGpus, lowerBoundGpcs, options)
}

function solveFirst(
  profiles: readonly ServiceProfile[],
  objectives: readonly ServiceObjective[],
  { maxGpus, latencyShare, seed = 1, powerCap }: HeuristicOptions,
) {
  assertLimits({ ...(maxGpus !== undefined && { maxGpus }), seed })
  const demands = demandsOf(withinCap(profiles, objectives, powerCap), inOrder(objectives), latencyShare)
  const problem = coverProblem(demands.served)
  const bound = priceBound(problem)
  return { demands, problem, start: solveHeuristically(problem, bound, { seed }), bound }
}

/** @throws InvalidInputError for options out of range */
export function assertLimits({ maxGpus, seed = 1, mostIterations = 0 }: PlanOptions): void {
  if (maxGpus !== undefined && !(Number.isInteger(maxGpus) && maxGpus >= 1)) {
    throw new InvalidInputError('maxGpus', maxGpus, 'an integer of at least 1')
  }
  if (!Number.isInteger(seed)) throw new InvalidInputError('seed', seed, 'an integer')
  if (!(Number.isInteger(mostIterations) && mostIterations >= 0)) {
    throw new InvalidInputError('mostIterations', mostIterations, 'an integer of at least 0')
  }
}

/** The order of the objectives must not matter to a plan, so the search always sees them sorted. */
export function inOrder(objectives: readonly ServiceObjective[]): ServiceObjective[] {
  return [...objectives].sort((a, b) => (a.model < b.model ? -1 : 1))
}

/** Profiles of the services, without points that a board's cap does not allow. @throws InvalidInputError as `profilesWithinCap` */
export function withinCap(
  profiles: readonly ServiceProfile[],
  objectives: readonly ServiceObjective[],
  cap: PowerCap | undefined,
): readonly ServiceProfile[] {
  if (cap === undefined) return profiles
  return profilesWithinCap(
    profiles.filter(({ model }) => objectives.some((objective) => objective.model === model)),
    cap,
  )
}

/**
 * Give numbers of segments their places.
 *
 * @throws TooFewGpusError where `maxGpus` does not suffice
 */
export function finish(
  { served, unserved }: Demands,
  solution: CountSolution,
  lowerBoundGpus: number,
  lowerBoundGpcs: number,
  { maxGpus, powerCap }: Pick<HeuristicOptions, 'maxGpus' | 'powerCap'>,
): BoundedPlan {
  const segmentOf = (service: number, size: SegmentSize) => {
    const { objective, best } = served[service]!
    return plannedAt(objective.model, best.get(size)!)
  }
  const gpus =
    powerCap === undefined
      ? packSegments(solution.counts, segmentOf)
      : packUnderCap(solution.counts, segmentOf, powerCap)
  if (maxGpus !== undefined && gpus.length > maxGpus) {
    throw new TooFewGpusError(maxGpus, gpus.length, lowerBoundGpus)
  }
  return {
    gpus,
    served: servedServices(
      served.map(({ objective }) => objective),
      gpus,
    ),
    unserved,
    ...countPlan(gpus),
    lowerBoundGpus,
    // On more boards than the sizes need the bound for these says nothing; that of the services alone holds on any.
    lowerBoundGpcs:
      gpus.length > solution.gpus
        ? Math.min(lowerBoundGpcs, solution.gpcs, fewestGpcs(coverProblem(served)))
        : lowerBoundGpcs,
    ...(powerCap && {
      power: {
        ...powerCap,
        highestW: Math.max(powerCap.idleW, ...gpus.map((gpu) => boardPowerW(gpu, powerCap.idleW))),
      },
    }),
  }
}
