import { boardsOf } from '@pctodl/mig-deploy'
import { InvalidInputError, PctodlError } from '@pctodl/platform'
import { fleetOf, gpusOf } from './fleet/one-board.js'
import { type FleetOptions, planFleet } from './fleet/plan-fleet.js'
import { simulateFleet } from './fleet/simulate-fleet.js'
import type { ServiceObjective, ServiceProfile } from './profile.js'
import { countPlan, type SegmentPlan, servedServices } from './segment-plan.js'
import type { SimulatedService, SimulationOptions } from './tail/simulate-queue.js'

/** What a board may draw. */
export interface PowerCap {
  /** Most watts of a board. */
  readonly boardW: number
  /** Watts of a board with its instances while nothing runs on them. */
  readonly idleW: number
}

export interface PlanOptions extends FleetOptions {
  /** GPUs that there are. Default: as many as needed. */
  readonly maxGpus?: number
  /** What each board may draw while all its processes run. Default: no cap. Needs points with measured power. */
  readonly powerCap?: PowerCap
}

/** A plan with what is known of the best there is. */
export interface BoundedPlan extends SegmentPlan {
  /**
   * No plan for the same services has fewer GPUs; by the tail, none of the ways to run services that the estimate of queues allows. Equal to
   * `gpuCount`: proved.
   */
  readonly lowerBoundGpus: number
  /** No plan with as many GPUs has fewer compute slices, in the same sense. Equal to `gpcCount`: proved. */
  readonly lowerBoundGpcs: number
  /** The cap of a plan that has one, with the watts of the board that draws most. */
  readonly power?: PowerCap & { readonly highestW: number }
}

/** The services need more GPUs than there are. */
export class TooFewGpusError extends PctodlError {
  readonly maxGpus: number
  /** GPUs of the best plan found. */
  readonly neededGpus: number
  /** No plan has fewer. */
  readonly lowerBoundGpus: number

  constructor(maxGpus: number, neededGpus: number, lowerBoundGpus: number) {
    super(
      'TOO_FEW_GPUS',
      `the plan needs ${neededGpus} GPUs and there are ${maxGpus} (no plan needs fewer than ${lowerBoundGpus}); add GPUs or lower rates`,
    )
    this.maxGpus = maxGpus
    this.neededGpus = neededGpus
    this.lowerBoundGpus = lowerBoundGpus
  }
}

/**
 * Plan services on boards of one type with seven slices: the fewest boards, then the fewest compute slices. It is `planFleet` with one group, in
 * the words of the published files: instances by their sizes, GPUs by their index. `dispatch` is `shared` unless it is given.
 *
 * @throws InvalidInputError for options, profiles and objectives out of range
 * @throws TooFewGpusError where `maxGpus` does not suffice; what `planFleet` throws
 */
export async function planSegments(
  profiles: readonly ServiceProfile[],
  objectives: readonly ServiceObjective[],
  { maxGpus, powerCap, ...options }: PlanOptions = {},
): Promise<BoundedPlan> {
  assertProfiles(profiles)
  if (maxGpus !== undefined && !(Number.isInteger(maxGpus) && maxGpus >= 1)) {
    throw new InvalidInputError('maxGpus', maxGpus, 'an integer of at least 1')
  }
  if (powerCap && !(powerCap.boardW > powerCap.idleW)) {
    throw new InvalidInputError(
      'powerCap.boardW',
      powerCap.boardW,
      `watts above those of an idle board, ${powerCap.idleW}`,
    )
  }
  const asked = profiles.filter(({ model }) => objectives.some((objective) => objective.model === model))
  const fleet = fleetOf('A100', powerCap ? asked : profiles, {
    boardsPerNode: MAX_PER_NODE,
    ...(powerCap && { idleW: powerCap.idleW, boardCapW: powerCap.boardW }),
  })
  const plan = await planFleet(fleet, objectives, { dispatch: 'shared', ...options }, 'slices')
  const lowerBoundGpus = Math.ceil(plan.lowerBoundCost - 1e-6)
  if (maxGpus !== undefined && plan.boards.length > maxGpus) {
    throw new TooFewGpusError(maxGpus, plan.boards.length, lowerBoundGpus)
  }
  const gpus = gpusOf(plan.boards, MAX_PER_NODE)
  const { gpuCount, gpcCount } = countPlan(gpus)
  const highestW = plan.boards.reduce((most, { powerW }) => Math.max(most, powerW), powerCap?.idleW ?? 0)
  return {
    ...{ gpus, served: servedServices(plan.served, gpus), unserved: plan.unserved, gpuCount, gpcCount },
    lowerBoundGpus,
    lowerBoundGpcs: plan.lowerBoundSlices,
    ...(powerCap && { power: { ...powerCap, highestW } }),
  }
}

/** `simulateFleet` for such a plan; from one queue for each service unless `dispatch` says otherwise. */
export function simulatePlan(
  { gpus, served }: Pick<SegmentPlan, 'gpus' | 'served'>,
  profiles: readonly ServiceProfile[],
  options: SimulationOptions = {},
): SimulatedService[] {
  const boards = boardsOf(gpus, 'A100', MAX_PER_NODE).map(({ segments, ...board }, i) => ({
    ...{ ...board, group: 0, powerW: Number.NaN },
    segments: segments.map((segment, k) => ({ ratePerS: gpus[i]!.segments[k]!.throughput, ...segment })),
  }))
  return simulateFleet({ boards, served }, fleetOf('A100', profiles), { dispatch: 'shared', ...options })
}

/** GPUs are counted over the whole cluster: whoever writes a map says how many a node has. */
const MAX_PER_NODE = 1_000_000

function assertProfiles(profiles: readonly ServiceProfile[]): void {
  profiles.forEach(({ model }, i) => {
    if (profiles.findIndex((each) => each.model === model) === i) return
    throw new InvalidInputError('profiles', model, 'one profile for each model')
  })
  const clocks = new Set(profiles.flatMap(({ points }) => points.map(({ smClockMhz }) => smClockMhz)))
  if (clocks.size <= 1) return
  const found = [...clocks].map((clock) => (clock === undefined ? 'no clock' : `${clock} MHz`)).join(', ')
  throw new InvalidInputError('profiles', found, 'points at one SM clock; `fleet` (planFleet) chooses clocks of boards')
}
