import { InvalidInputError } from '@pctodl/platform'
import { assertLimits, DEFAULT_MOST_ITERATIONS, TooFewGpusError } from '../plan-segments.js'
import type { ServiceObjective, ServiceProfile } from '../profile.js'
import { servedServices, type UnservedService } from '../segment-plan.js'
import { withKeepable } from '../tail/explain-late.js'
import { simulatePlan } from '../tail/simulate-plan.js'
import { withBatchRates } from '../tail/tail-points.js'
import { assertCheck, CHECK_SEED, isLate, planUntilKept } from '../tail/until-kept.js'
import { type CarryOutOptions, carryOut, type PlannedPeriod } from './carry-out.js'
import type { DayGate } from './day-demands.js'
import { type DayCosts, type DayProblem, dayProblem } from './day-problem.js'
import { solveDay } from './day-program.js'
import { countsFor, periodEnergyJ, planWindows, staticCounts } from './window-plans.js'

export interface DayOptions extends DayCosts {
  /** GPUs that there are. Default: as many as the plan with most of them needs. */
  readonly gpus?: number
  /** What keeps an objective: a batch time below a share of it (the default), or the p99 of one queue for each service. */
  readonly gate?: 'latency' | 'tail'
  /** Of `latency`: share of an objective that computing a batch may take. Default 0.45. */
  readonly latencyShare?: number
  /** Of `tail`: variance of the gaps between requests over their squared mean, 0.1 to 100. Default 1, Poisson. */
  readonly burstiness?: number
  /**
   * Of `tail`: requests of each service that are let come to the map of each period; a service of which more than 0.8 % are late in one gets more
   * room all day, and one that still is so after six times is not served. Default 20 000; 0: the estimate alone decides.
   */
  readonly checkRequests?: number
  /** Share of the day's requests that changes may make late, 0..0.1. Default 0: every service stays at its rate. */
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
 * this program: it counts what is created, and not that segments may have to make room. By the tail it holds for the way to run each service
 * that was chosen for its highest rate.
 *
 * @param periods the objectives of each period
 * @throws InvalidInputError for options out of range and profiles without measured power
 * @throws TooFewGpusError where `gpus` does not suffice for some period
 */
export async function planDay(
  profiles: readonly ServiceProfile[],
  periods: readonly (readonly ServiceObjective[])[],
  options: DayOptions,
): Promise<DaySchedule> {
  const { gpus, mostLate = 0, seed = 1, mostIterations = DEFAULT_MOST_ITERATIONS, latencyShare } = options
  const { gate = 'latency', burstiness = 1, checkRequests = 20_000 } = options
  assertLimits({ seed, mostIterations, ...(gpus !== undefined && { maxGpus: gpus }) })
  if (!(mostLate >= 0 && mostLate <= 0.1)) throw new InvalidInputError('mostLate', mostLate, 'a share from 0 to 0.1')
  assertCheck(burstiness, checkRequests)
  if (gate === 'latency') return planOnce(profiles, periods, options, { kind: 'latency', latencyShare })
  const rated = profiles.map(withBatchRates)
  const checked = (of: typeof periods, how: DayOptions) =>
    planUntilKept(
      (times) => planOnce(rated, of, how, { kind: 'tail', burstiness, times }),
      (day) => (checkRequests === 0 ? [] : lateIn(day, rated, of, burstiness, checkRequests)),
    )
  const day = await checked(periods, options)
  const { gpus: _, ...alone } = options
  const kept = async ({ model, latencyMs }: ServiceObjective) => {
    const own = periods.map((of) => of.filter((each) => each.model === model).map((each) => ({ ...each, latencyMs })))
    const { unserved } = await checked(own, { ...alone, mostIterations: 0 })
    return unserved.length === 0
  }
  return { ...day, unserved: await withKeepable(day.unserved, rated, burstiness, 'shared', kept) }
}

/** Services that are late in the map of some period; while maps change their segments are no fewer. */
function lateIn(
  { periods: maps, unserved }: DaySchedule,
  profiles: readonly ServiceProfile[],
  periods: readonly (readonly ServiceObjective[])[],
  burstiness: number,
  requests: number,
): Set<string> {
  const late = new Set<string>()
  maps.forEach(({ gpus }, h) => {
    const asked = periods[h]!.filter(({ model }) => !unserved.some((service) => service.model === model))
    const plan = { gpus, served: servedServices(asked, gpus) }
    for (const service of simulatePlan(plan, profiles, { burstiness, requests, seed: CHECK_SEED + h })) {
      if (isLate(service)) late.add(service.model)
    }
  })
  return late
}

async function planOnce(
  profiles: readonly ServiceProfile[],
  periods: readonly (readonly ServiceObjective[])[],
  { gpus: given, mostLate = 0, seed = 1, mostIterations = DEFAULT_MOST_ITERATIONS, ...costs }: DayOptions,
  gate: DayGate,
): Promise<DaySchedule> {
  const { periodS, migrationS, idleW, parkedW } = costs
  const problem = dayProblem(profiles, periods, { periodS, migrationS, idleW, parkedW }, gate)
  const options: CarryOutOptions = {
    profiles,
    // The way of each service is chosen for the day: its points are kept whatever part of the objective they take.
    latencyShare: gate.kind === 'tail' ? 1 : gate.latencyShare,
    maxGpus: given ?? Number.POSITIVE_INFINITY,
    lateJ: Number.POSITIVE_INFINITY,
    moves: 'few',
  }
  const { served, rates, needs } = problem
  const all = Array.from({ length: problem.periods }, (_, h) => h)
  const fresh = all.map((h) => countsFor(problem, needs.subarray(h * served.length, (h + 1) * served.length), seed))
  const still = staticCounts(problem, seed)
  const stayed = carryOut(
    problem,
    all.map(() => still),
    options,
  )
  const redeployed = carryOut(problem, fresh, { ...options, maxGpus: Number.POSITIVE_INFINITY, moves: 'anew' })
  const requests = rates.reduce((sum, rate) => sum + rate, 0) * problem.periodS
  // What would do with fewer boards than there are may be found only where nobody counts them.
  const limits = given === undefined ? [options.maxGpus] : [Number.POSITIVE_INFINITY, given]
  const within = (counts: readonly Int32Array[]) =>
    limits.flatMap((maxGpus) => carryOutWithin(problem, counts, { ...options, maxGpus }, mostLate * requests))
  const ways = [stayed]
  let boundJ = 0
  // Of the fewest boards not those with the least watts: the programs of single periods look for these.
  const frugal = [...fresh]
  if (mostIterations > 0) {
    const joint = problem.periods * served.length * 5 <= MOST_JOINT
    const each = Math.ceil(mostIterations / ((joint ? 2 : 1) * problem.periods))
    for (const h of all) {
      const alone = await solveDay(problem, [h], each)
      boundJ += alone.boundJ
      if (alone.counts && periodEnergyJ(problem, h, alone.counts[0]!) < periodEnergyJ(problem, h, fresh[h]!)) {
        frugal[h] = alone.counts[0]!
      }
    }
    for (const maxGpus of joint ? limits : []) {
      const together = await solveDay(problem, all, Math.ceil(mostIterations / 2), maxGpus)
      if (together.counts) ways.push(...within(together.counts))
      boundJ = Math.max(boundJ, together.boundJ)
    }
  }
  const windows = [fresh, frugal].map((single) => planWindows(problem, single, seed))
  ways.push(...[...windows, fresh, frugal].flatMap(within))
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

/** Tries of a price for late requests. */
const MOST_PRICES = 6

/**
 * Ways through a day: one in which nobody is late where that can be helped, and some in which late requests have a price. It is halved from a
 * few hundred times what a request takes on average while no more are late than may be, and doubled while more are.
 */
function carryOutWithin(
  problem: DayProblem,
  counts: readonly Int32Array[],
  options: CarryOutOptions,
  mostLate: number,
): PlannedPeriod[][] {
  const ways = [carryOut(problem, counts, options)]
  if (mostLate === 0) return ways
  const requests = problem.rates.reduce((sum, rate) => sum + rate, 0) * problem.periodS
  const eachJ = sumOf(ways[0]!, ({ energyJ }) => energyJ) / requests
  let [low, high] = [-2, 10]
  for (let tried = 0; tried < MOST_PRICES; tried++) {
    const exponent = (low + high) / 2
    const way = carryOut(problem, counts, { ...options, lateJ: eachJ * 2 ** exponent })
    ways.push(way)
    if (sumOf(way, ({ lateRequests }) => lateRequests) <= mostLate) high = exponent
    else low = exponent
  }
  return ways
}

function sumOf(way: readonly PlannedPeriod[], of: (period: PlannedPeriod) => number): number {
  return way.reduce((sum, period) => sum + of(period), 0)
}

function mostOf(way: readonly PlannedPeriod[]): number {
  return Math.max(0, ...way.map(({ gpus }) => gpus.length))
}
