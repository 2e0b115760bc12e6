import { COMPUTE_SLICES, type SegmentSize } from '@pctodl/mig-deploy'
import { InvalidInputError } from '@pctodl/platform'
import { latencyGateMs } from './latency-gate.js'
import { type ProfilePoint, type ServiceObjective, type ServiceProfile, throughputOf } from './profile.js'
import type { UnservedService } from './segment-plan.js'

/** GPUs that one service may take. */
export const MOST_GPUS = 100_000

/** A service with, for each size of instance, the best way to run it within its latency. */
export interface ServiceDemand {
  readonly objective: ServiceObjective
  readonly best: ReadonlyMap<SegmentSize, ProfilePoint>
  /** Items/s that its segments must have together. Default: the rate. */
  readonly capacityPerS?: number
}

/** Items/s that the segments of a service must have together. */
export function capacityNeeded({ objective, capacityPerS }: ServiceDemand): number {
  return capacityPerS ?? objective.ratePerS
}

export interface Demands {
  readonly served: readonly ServiceDemand[]
  readonly unserved: readonly UnservedService[]
}

/**
 * Match objectives with profiles: of each size of instance the point of highest throughput whose batch time stays below the
 * gate. Among equals the smallest batch, then the fewest processes.
 *
 * @throws InvalidInputError for two objectives or two profiles of one model, for rates or latencies that are not positive, and
 * for rates that take more than `MOST_GPUS`
 */
export function demandsOf(
  profiles: readonly ServiceProfile[],
  objectives: readonly ServiceObjective[],
  latencyShare?: number,
): Demands {
  return matchDemands(profiles, objectives, (objective, profile) => {
    const gateMs = latencyGateMs(objective.latencyMs, latencyShare)
    const best = profile ? bestPoints(profile, gateMs) : new Map<SegmentSize, ProfilePoint>()
    return best.size > 0 ? { objective, best } : explainUnserved(objective, profile, gateMs)
  })
}

/**
 * Match objectives with profiles.
 *
 * @param demandOf what a service needs, or why it cannot be served
 * @throws InvalidInputError as `demandsOf`
 */
export function matchDemands(
  profiles: readonly ServiceProfile[],
  objectives: readonly ServiceObjective[],
  demandOf: (objective: ServiceObjective, profile: ServiceProfile | undefined) => ServiceDemand | UnservedService,
): Demands {
  const byModel = new Map<string, ServiceProfile>()
  for (const profile of profiles) {
    if (byModel.has(profile.model)) throw new InvalidInputError('profiles', profile.model, 'one profile for each model')
    byModel.set(profile.model, profile)
  }
  assertOneClock(profiles)
  const seen = new Set<string>()
  const served: ServiceDemand[] = []
  const unserved: UnservedService[] = []
  for (const objective of objectives) {
    assertObjective(objective)
    if (seen.has(objective.model)) {
      throw new InvalidInputError('objectives', objective.model, 'one objective for each model; add the rates up')
    }
    seen.add(objective.model)
    const demand = demandOf(objective, byModel.get(objective.model))
    if ('best' in demand) {
      assertCountable(demand)
      served.push(demand)
    } else unserved.push(demand)
  }
  return { served, unserved }
}

/** Instances of a board share its clock, which plans for one type of board do not choose. */
function assertOneClock(profiles: readonly ServiceProfile[]): void {
  const clocks = new Set(profiles.flatMap(({ points }) => points.map(({ smClockMhz }) => smClockMhz)))
  if (clocks.size <= 1) return
  const found = [...clocks].map((clock) => (clock === undefined ? 'no clock' : `${clock} MHz`)).join(', ')
  throw new InvalidInputError('profiles', found, 'points at one SM clock; `fleet` (planFleet) chooses clocks of boards')
}

export function assertObjective({ model, ratePerS, latencyMs }: ServiceObjective): void {
  if (!(ratePerS > 0 && Number.isFinite(ratePerS))) {
    throw new InvalidInputError(`objective of ${model}: ratePerS`, ratePerS, 'a positive number of requests/s')
  }
  if (!(latencyMs > 0 && Number.isFinite(latencyMs))) {
    throw new InvalidInputError(`objective of ${model}: latencyMs`, latencyMs, 'a positive number of ms')
  }
}

/** A typing error in a rate is an error, not hours of counting segments. */
function assertCountable(demand: ServiceDemand): void {
  const { model, ratePerS } = demand.objective
  const perGpc = Math.max(...[...demand.best].map(([size, point]) => throughputOf(point) / size))
  const gpus = capacityNeeded(demand) / perGpc / COMPUTE_SLICES
  if (gpus <= MOST_GPUS) return
  throw new InvalidInputError(
    `objective of ${model}: ratePerS`,
    ratePerS,
    `at most ${(MOST_GPUS * COMPUTE_SLICES * perGpc).toPrecision(3)} requests/s, what ${MOST_GPUS} GPUs serve`,
  )
}

function bestPoints({ points }: ServiceProfile, gateMs: number): Map<SegmentSize, ProfilePoint> {
  const best = new Map<SegmentSize, ProfilePoint>()
  for (const point of points) {
    if (!(point.processThroughput > 0 && point.latencyMs < gateMs)) continue
    const before = best.get(point.sizeGpcs)
    if (!before || isBetter(point, before)) best.set(point.sizeGpcs, point)
  }
  return best
}

function isBetter(a: ProfilePoint, b: ProfilePoint): boolean {
  return (throughputOf(a) - throughputOf(b) || b.batchSize - a.batchSize || b.processes - a.processes) > 0
}

export function explainUnserved(
  objective: ServiceObjective,
  profile: ServiceProfile | undefined,
  gateMs: number,
): UnservedService {
  const { model, latencyMs } = objective
  if (!profile) return { ...objective, reason: 'no-profile', message: `${model} has no profile; measure it first` }
  const ran = profile.points.filter((point) => point.processThroughput > 0)
  const fastest = ran.reduce<ProfilePoint | undefined>(
    (least, point) => (least && least.latencyMs <= point.latencyMs ? least : point),
    undefined,
  )
  if (!fastest) {
    return {
      ...objective,
      reason: 'never-ran',
      message: `${model} ran in no profiled instance; profile smaller batches`,
    }
  }
  const share = gateMs / latencyMs
  return {
    ...objective,
    reason: 'latency',
    message:
      `${model}: no instance computes a batch in less than ${gateMs.toPrecision(4)} ms (${share} of ${latencyMs} ms); ` +
      `the fastest is ${fastest.latencyMs.toPrecision(4)} ms (${fastest.sizeGpcs} GPCs, batch ${fastest.batchSize}, ` +
      `${fastest.processes} processes), so ask for more than ${(fastest.latencyMs / share).toPrecision(4)} ms`,
  }
}
