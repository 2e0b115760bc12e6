import { InvalidInputError } from '@pctodl/platform'
import { assertLimits, DEFAULT_MOST_ITERATIONS, TooFewGpusError } from '../plan-segments.js'
import type { ServiceObjective, ServiceProfile } from '../profile.js'
import type { UnservedService } from '../segment-plan.js'
import { type CarryOutOptions, carryOut, type PlannedPeriod } from './carry-out.js'
import { type DayCosts, dayProblem } from './day-problem.js'
import { solveDay } from './day-program.js'
import { countsFor, planWindows, staticCounts } from './window-plans.js'

export interface DayOptions extends DayCosts {
  /** GPUs that there are. Default: as many as the plan with most of them needs. */
  readonly gpus?: number
  /** Share of a latency objective that computing a batch may take. Default 0.45. */
  readonly latencyShare?: number
  /** Share of a period's requests that changing to it may make late, 0..0.1. Default 0: every service stays at its rate. */
  readonly mostLate?: number
  /** Order of the search's random steps. Default 1. */
  readonly seed?: number
  /** Most simplex iterations of all integer programs together. Default 50 000; 0: none, and no bound. */
  readonly mostIterations?: number
}

/** What a way to get through the day takes. */
export interface DayTotals {
  /** Of all GPUs, parked ones included, J. */
  readonly energyJ: number
  /** Segments created after the first period. */
  readonly created: number
  /** Requests that changing segments could not answer in time, at most. */
  readonly lateRequests: number
  /** GPUs in use in the period with most of them. */
  readonly mostGpus: number
}

export interface DaySchedule extends DayTotals {
  readonly periods: readonly PlannedPeriod[]
  readonly unserved: readonly UnservedService[]
  /** GPUs whose energy is counted, in use or parked. */
  readonly gpus: number
  readonly requests: number
  /** No schedule takes less, J; 0 where none was looked for. */
  readonly lowerBoundJ: number
  /** One plan for the highest rates of the day. */
  readonly staticPlan: DayTotals
  /** Each period planned and packed as if there were none before. */
  readonly redeployed: DayTotals
}

/** Integer variables up to which all periods are put into one program. */
const MOST_JOINT = 220

/**
 * Follow rates over a day: which map runs in each period, and how one becomes the next, at the least energy. Plans for windows of the day are
 * chosen by dynamic programming; small fleets are then solved as one integer program. The bound is that of the periods apart, or of
 * this program: it counts what is created, and not that segments may have to make room.
 *
 * @param periods the objectives of each period
 * @throws InvalidInputError for options out of range and profiles without measured power
 * @throws TooFewGpusError where `gpus` does not suffice for some period
 */
export async function planDay(
  profiles: readonly ServiceProfile[],
  periods: readonly (readonly ServiceObjective[])[],
  { gpus: given, latencyShare, mostLate = 0, seed = 1, mostIterations = DEFAULT_MOST_ITERATIONS, ...costs }: DayOptions,
): Promise<DaySchedule> {
  assertLimits({ seed, mostIterations, ...(given !== undefined && { maxGpus: given }) })
  if (!(mostLate >= 0 && mostLate <= 0.1)) throw new InvalidInputError('mostLate', mostLate, 'a share from 0 to 0.1')
  const problem = dayProblem(profiles, periods, costs, latencyShare)
  const options: CarryOutOptions = {
    profiles,
    latencyShare,
    maxGpus: given ?? Number.POSITIVE_INFINITY,
    mostLate,
    moves: 'few',
  }
  const { served, rates } = problem
  const all = Array.from({ length: problem.periods }, (_, h) => h)
  const fresh = all.map((h) => countsFor(problem, rates.subarray(h * served.length, (h + 1) * served.length), seed))
  const still = staticCounts(problem, seed)
  const stayed = carryOut(
    problem,
    all.map(() => still),
    options,
  )
  const redeployed = carryOut(problem, fresh, { ...options, maxGpus: Number.POSITIVE_INFINITY, moves: 'anew' })
  const ways = [carryOut(problem, planWindows(problem, seed), options), carryOut(problem, fresh, options), stayed]
  let boundJ = 0
  if (mostIterations > 0) {
    for (const h of all)
      boundJ += (await solveDay(problem, [h], Math.ceil(mostIterations / (2 * problem.periods)))).boundJ
    if (problem.periods * served.length * 5 <= MOST_JOINT) {
      const joint = await solveDay(problem, all, Math.ceil(mostIterations / 2), given)
      if (joint.counts) ways.push(carryOut(problem, joint.counts, options))
      boundJ = Math.max(boundJ, joint.boundJ)
    }
  }
  const requests = rates.reduce((sum, rate) => sum + rate, 0) * problem.periodS
  const excess = (way: PlannedPeriod[]) =>
    Math.max(0, sumOf(way, ({ lateRequests }) => lateRequests) - mostLate * requests)
  const worse = (a: PlannedPeriod[], b: PlannedPeriod[]) =>
    excess(a) - excess(b) || sumOf(a, ({ energyJ }) => energyJ) - sumOf(b, ({ energyJ }) => energyJ)
  const fitting = ways.filter((way) => mostOf(way) <= options.maxGpus)
  if (fitting.length === 0) {
    const most = Math.min(...ways.map(mostOf))
    throw new TooFewGpusError(given!, most, Math.max(...fresh.map((_, h) => redeployed[h]!.gpus.length)))
  }
  const best = fitting.reduce((a, b) => (worse(b, a) < 0 ? b : a))
  const gpus = given ?? Math.max(mostOf(best), mostOf(stayed), mostOf(redeployed))
  const parkedJ = gpus * problem.parkedW * problem.periodS * problem.periods
  const totals = (way: readonly PlannedPeriod[]): DayTotals => ({
    energyJ: parkedJ + sumOf(way, ({ energyJ }) => energyJ),
    created: sumOf(way, ({ steps }) => steps.filter(({ kind }) => kind === 'create').length),
    lateRequests: sumOf(way, ({ lateRequests }) => lateRequests),
    mostGpus: mostOf(way),
  })
  const chosen = totals(best)
  return {
    ...chosen,
    periods: best,
    unserved: problem.unserved,
    gpus,
    requests,
    lowerBoundJ: mostIterations > 0 ? Math.min(chosen.energyJ, parkedJ + boundJ) : 0,
    staticPlan: totals(stayed),
    redeployed: totals(redeployed),
  }
}

function sumOf(way: readonly PlannedPeriod[], of: (period: PlannedPeriod) => number): number {
  return way.reduce((sum, period) => sum + of(period), 0)
}

function mostOf(way: readonly PlannedPeriod[]): number {
  return Math.max(0, ...way.map(({ gpus }) => gpus.length))
}
