import { PctodlError, type Placement } from '@pctodl/platform'
import { check, checkInteger } from './check.js'
import { fleetOf } from './fleet/fleet.js'
import type { FleetPlan } from './fleet/fleet-plan.js'
import type { FleetBoard, FleetSegment } from './fleet/place-fleet.js'
import { type FleetOptions, planFleet } from './fleet/plan-fleet.js'
import { simulateFleet } from './fleet/simulate-fleet.js'
import { boardsOf, gpusOf } from './map/deployment-map.js'
import type { ServiceObjective, ServiceProfile } from './profile.js'
import type { SimulatedService, SimulationOptions } from './tail/simulate-queue.js'

/** Power limit of a board. */
export interface PowerCap {
  /** Maximum power of a board, W. */
  readonly boardW: number
  /** Power of an idle board with its instances, W. */
  readonly idleW: number
}

export interface PlanOptions extends FleetOptions {
  /** Number of GPUs available. Default: as many as needed. */
  readonly maxGpus?: number | undefined
  /** Power limit of each board while all its processes run. Default: none. It needs points with measured power. */
  readonly powerCap?: PowerCap
  /** Board with seven slices, whose names of instances the reasons use. Default: `A100`. */
  readonly gpu?: string
}

/** The segments of one GPU, in order of their start slots, with their sizes in compute slices. */
export interface PlannedGpu {
  /** Index over the whole cluster, from 0. */
  readonly index: number
  readonly segments: readonly (FleetSegment & Placement)[]
}

/** A plan, with bounds that say how far it may be from the optimum. */
export interface BoundedPlan extends Pick<FleetPlan, 'served' | 'unserved'> {
  readonly gpus: readonly PlannedGpu[]
  readonly gpuCount: number
  /** Compute slices in use. */
  readonly gpcCount: number
  /**
   * No plan for the same services has fewer GPUs; with `tail`, no plan among those that the queue estimate allows. If
   * it equals `gpuCount`, that number is proved optimal.
   */
  readonly lowerBoundGpus: number
  /**
   * No plan with this number of GPUs has fewer compute slices. If it equals `gpcCount`, that number is proved optimal.
   */
  readonly lowerBoundGpcs: number
  /** The power cap, if any, and the highest power of a board. */
  readonly power?: PowerCap & { readonly highestW: number }
}

/**
 * Plans services on boards of one type with seven slices, on the fewest boards, and among such plans with the fewest
 * compute slices. This is `planFleet` with one group, in the terms of ParvaGPU's files: instances by size, GPUs by
 * index. `dispatch` defaults to `shared`.
 *
 * @throws InvalidInputError for options, profiles and objectives out of range
 * @throws PctodlError `TOO_FEW_GPUS` if `maxGpus` does not suffice; also the errors of `planFleet`
 */
export async function planSegments(
  profiles: readonly ServiceProfile[],
  objectives: readonly ServiceObjective[],
  { maxGpus, powerCap, gpu = 'A100', ...options }: PlanOptions = {},
): Promise<BoundedPlan> {
  assertProfiles(profiles)
  if (maxGpus !== undefined) checkInteger('maxGpus', maxGpus, 1)
  const { boardW = 1, idleW = 0 } = powerCap ?? {}
  check(boardW > idleW, 'powerCap.boardW', boardW, `watts above those of an idle board, ${idleW}`)
  const asked = profiles.filter(({ model }) => objectives.some((objective) => objective.model === model))
  const fleet = fleetOf(gpu, powerCap ? asked : profiles, {
    boardsPerNode: MAX_PER_NODE,
    ...(powerCap && { idleW: powerCap.idleW, boardCapW: powerCap.boardW }),
  })
  const plan = await planFleet(fleet, objectives, { dispatch: 'shared', ...options }, 'slices')
  const lowerBoundGpus = Math.ceil(plan.lowerBoundCost - 1e-6)
  const { length: gpuCount } = plan.boards
  if (maxGpus !== undefined && gpuCount > maxGpus) {
    throw new PctodlError(
      'TOO_FEW_GPUS',
      `the plan needs ${gpuCount} GPUs and there are ${maxGpus} (no plan needs fewer than ${lowerBoundGpus}); add GPUs or lower rates`,
    )
  }
  const highestW = plan.boards.reduce((most, { powerW }) => Math.max(most, powerW), powerCap?.idleW ?? 0)
  return {
    gpus: gpusOf(plan.boards, MAX_PER_NODE),
    ...{ served: plan.served, unserved: plan.unserved, gpuCount },
    gpcCount: plan.served.reduce((sum, { gpcs }) => sum + gpcs, 0),
    lowerBoundGpus,
    lowerBoundGpcs: plan.lowerBoundSlices,
    ...(powerCap && { power: { ...powerCap, highestW } }),
  }
}

/** `simulateFleet` for a plan of `planSegments`. `dispatch` defaults to `shared`. */
export function simulatePlan(
  { gpus, served }: { readonly gpus: readonly PlannedGpu[]; readonly served: readonly ServiceObjective[] },
  profiles: readonly ServiceProfile[],
  options: SimulationOptions = {},
): SimulatedService[] {
  const boards = boardsOfGpus(gpus, 'A100', MAX_PER_NODE)
  return simulateFleet({ boards, served }, fleetOf('A100', profiles), { dispatch: 'shared', ...options })
}

/** Converts the GPUs of a plan to boards of a fleet of one type. */
export function boardsOfGpus(gpus: readonly PlannedGpu[], gpu: string, gpusPerNode: number): FleetBoard[] {
  return boardsOf(gpus, gpu, gpusPerNode).map((board) => ({ ...board, group: 0, powerW: Number.NaN }))
}

/** Here GPUs are numbered over the whole cluster. The number per node is chosen when a map is written. */
const MAX_PER_NODE = 1_000_000

function assertProfiles(profiles: readonly ServiceProfile[]): void {
  const clocks = new Set(profiles.flatMap(({ points }) => points.map(({ smClockMhz }) => smClockMhz)))
  const found = [...clocks].map((clock) => (clock === undefined ? 'no clock' : `${clock} MHz`)).join(', ')
  check(clocks.size <= 1, 'profiles', found, 'points at one SM clock; `fleet` (planFleet) chooses clocks of boards')
}
