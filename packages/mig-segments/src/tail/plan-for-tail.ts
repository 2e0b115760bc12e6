import {
  assertLimits,
  type BoundedPlan,
  DEFAULT_MOST_ITERATIONS,
  finish,
  inOrder,
  type PlanOptions,
  withinCap,
} from '../plan-segments.js'
import type { ServiceObjective, ServiceProfile } from '../profile.js'
import { matchDemands, type ServiceDemand } from '../service-demand.js'
import { cheapestCover } from '../solve/cheapest-cover.js'
import { type CoverProblem, coverProblem } from '../solve/cover-problem.js'
import { enumerateTotals } from '../solve/enumerate-totals.js'
import { type CountSolution, solveHeuristically } from '../solve/heuristic.js'
import { type PriceBound, priceBound } from '../solve/price-bound.js'
import { gpcsOf, SIZES } from '../solve/size-counts.js'
import { solutionOf, solveExactly } from '../solve/solve-exactly.js'
import { cannotKeep, withKeepable } from './explain-late.js'
import { type ServiceTail, tailsOf } from './service-tails.js'
import { simulatePlan } from './simulate-plan.js'
import { assertErrors, lateUnder, type StatedTraffic, underErrors } from './stated-traffic.js'
import { type Dispatch, type TailOption, waysToKeep } from './tail-options.js'
import { withBatchRates } from './tail-points.js'
import { assertCheck, CHECK_SEED, planUntilKept, roomOf, type TimesLate } from './until-kept.js'

export interface TailPlanOptions extends Omit<PlanOptions, 'latencyShare'>, StatedTraffic {
  /** How requests reach segments. Default `shared`. */
  readonly dispatch?: Dispatch
  /**
   * Requests of each service that are let come to the plan: a service of which more than 0.8 % are late is planned again with more room,
   * and one that still is so after eight times is not served. Default 40 000; 0: the estimate alone decides.
   */
  readonly checkRequests?: number
}

/**
 * A plan whose services answer 99 of 100 requests in time, by an estimate for their queues. Its `lowerBoundGpus` and `lowerBoundGpcs`
 * hold for every choice among the ways to run the services that the estimate allows.
 */
export interface TailPlan extends BoundedPlan {
  readonly burstiness: number
  readonly dispatch: Dispatch
  /** In the order of `served`. */
  readonly tails: readonly ServiceTail[]
}

/** Rounds in which the services' ways and the prices of sizes find each other. */
const ROUNDS = 6

/**
 * Plan as few GPUs as can be so that each service's p99 keeps its objective, where its processes take what waits at once (no waiting
 * for full batches), from one queue or from one of their segment (`dispatch`), and requests come as `burstiness` says. Of each service the longest batch, the
 * processes and the room above its rate are chosen together (`tailOptions`), by what they cost at the prices that the sizes of
 * instances have in the plan.
 *
 * @throws InvalidInputError for options, profiles and objectives out of range
 * @throws TooFewGpusError where `maxGpus` does not suffice
 */
export async function planForTail(
  profiles: readonly ServiceProfile[],
  objectives: readonly ServiceObjective[],
  options: TailPlanOptions = {},
): Promise<TailPlan> {
  const { burstiness = 1, dispatch = 'shared', checkRequests = 40_000 } = options
  assertCheck(burstiness, checkRequests)
  assertErrors(options)
  assertLimits(options)
  const plan = await planChecked(profiles, objectives, options)
  const rated = withinCap(profiles, objectives, options.powerCap).map(withBatchRates)
  const { maxGpus: _, ...alone } = options
  const kept = async (objective: ServiceObjective) => {
    const { unserved } = await planChecked(profiles, [objective], alone)
    return unserved.length === 0
  }
  return { ...plan, unserved: await withKeepable(plan.unserved, rated, burstiness, dispatch, kept) }
}

async function planChecked(
  profiles: readonly ServiceProfile[],
  objectives: readonly ServiceObjective[],
  options: TailPlanOptions,
): Promise<TailPlan> {
  const { checkRequests: requests = 40_000 } = options
  return planUntilKept(
    (times) => planOnce(profiles, objectives, options, times),
    ({ dispatch, ...plan }) => {
      if (requests === 0) return []
      const hard = { ...plan, served: plan.served.map((service) => underErrors(service, options)) }
      return lateUnder(options, CHECK_SEED, (way) => simulatePlan(hard, profiles, { ...way, dispatch, requests }))
    },
  )
}

async function planOnce(
  profiles: readonly ServiceProfile[],
  objectives: readonly ServiceObjective[],
  {
    burstiness = 1,
    dispatch = 'shared',
    seed = 1,
    mostIterations = DEFAULT_MOST_ITERATIONS,
    ...options
  }: TailPlanOptions,
  times: TimesLate,
): Promise<TailPlan> {
  const rated = withinCap(profiles, objectives, options.powerCap).map(withBatchRates)
  const ways = new Map<string, readonly TailOption[]>()
  const { served: first, unserved } = matchDemands(rated, inOrder(objectives), (objective, profile) => {
    const room = roomOf(times, objective.model)
    const found =
      profile && room
        ? waysToKeep(
            profile,
            underErrors({ ...objective, ratePerS: objective.ratePerS * room.margin }, options),
            burstiness,
            dispatch,
            room.mostLate,
          )
        : []
    if (found.length === 0) return cannotKeep(objective, profile)
    ways.set(objective.model, found)
    return { objective, ...found[0]! }
  })
  const choice = new WayChoice(first, ways)
  // A board has seven slices: what the leanest ways need of them is a bound already.
  const leanest = choice.cheapest(gpcsOf.map((gpcs) => gpcs / 7))
  let { demands } = leanest
  let least = Math.ceil(leanest.bound - 1e-6)
  for (let round = 0; ; round++) {
    const problem = coverProblem(demands)
    const bound = priceBound(problem)
    const next = choice.cheapest(bound.prices)
    least = Math.max(least, Math.ceil(next.bound - 1e-6))
    if (round < ROUNDS && next.demands.some(({ best }, m) => best !== demands[m]!.best)) {
      demands = next.demands
      continue
    }
    const first = { demands, problem, bound, start: solveHeuristically(problem, bound, { seed }) }
    let chosen = otherWays(choice, first, least, seed)
    while (chosen.start.gpus > least) {
      const fewer = choice.within(chosen.start.gpus - 1, chosen.bound.prices)
      if (fewer === 'none') least = chosen.start.gpus
      if (typeof fewer === 'string') break
      chosen = fewer
    }
    demands = chosen.demands
    const exact = await solveExactly(chosen.problem, chosen.start, chosen.bound, mostIterations)
    const { gpus, gpcs } = exact.solution
    const leastGpcs = Math.ceil(choice.cheapest(gpcsOf).bound - 1e-6)
    const plan = finish(
      { served: demands, unserved },
      exact.solution,
      Math.min(gpus, least),
      Math.min(gpcs, leastGpcs),
      options,
    )
    return { ...plan, burstiness, dispatch, tails: tailsOf(plan, rated, burstiness, dispatch) }
  }
}

interface WaySolution {
  readonly demands: ServiceDemand[]
  readonly problem: CoverProblem
  readonly bound: PriceBound
  readonly start: CountSolution
}

/** Plans with other ways that are made at most. */
const MOST_OTHERS = 300
/** Other ways of a service that are tried. */
const OTHERS = 5

/**
 * Where a plan takes more boards than the bound: change the way of one service after the other, to those that cost least at the
 * prices, while that saves boards or compute slices.
 */
function otherWays(choice: WayChoice, first: WaySolution, least: number, seed: number): WaySolution {
  let best = first
  let tried = 0
  for (let improved = true; improved && best.start.gpus > least && tried < MOST_OTHERS; ) {
    improved = false
    for (let m = 0; m < best.demands.length && best.start.gpus > least && tried < MOST_OTHERS; m++) {
      for (const other of choice.nearest(m, best.bound.prices, OTHERS)) {
        if (other === best.demands[m]) continue
        tried++
        const demands = best.demands.map((demand, i) => (i === m ? other : demand))
        const problem = coverProblem(demands)
        const bound = priceBound(problem)
        if (bound.gpus > best.start.gpus) continue
        const start = solveHeuristically(problem, bound, { seed, shakes: 4 })
        if ((start.gpus - best.start.gpus || start.gpcs - best.start.gpcs) >= 0) continue
        best = { demands, problem, bound, start }
        improved = true
      }
    }
  }
  return best
}

/** Chooses of each service the way that is cheapest at prices of sizes under which no full board is worth more than 1. */
class WayChoice {
  readonly #ways: readonly (readonly ServiceDemand[])[]

  constructor(served: readonly ServiceDemand[], ways: ReadonlyMap<string, readonly TailOption[]>) {
    this.#ways = served.map(({ objective }) => ways.get(objective.model)!.map((way) => ({ objective, ...way })))
  }

  /** @returns the ways, and what all services cost at least whichever ways they take */
  cheapest(prices: ArrayLike<number>): { demands: ServiceDemand[]; bound: number } {
    let bound = 0
    const demands = this.#ways.map((ways) => {
      const problem = coverProblem(ways)
      let best = 0
      let leastCost = Number.POSITIVE_INFINITY
      let leastBound = Number.POSITIVE_INFINITY
      ways.forEach((_, m) => {
        const cover = cheapestCover(problem, m, prices)
        leastBound = Math.min(leastBound, cover.bound)
        if (cover.cost >= leastCost - 1e-9) return
        leastCost = cover.cost
        best = m
      })
      bound += leastBound
      return ways[best]!
    })
    return { demands, bound }
  }

  /** A plan on so many boards, whichever ways it takes; `none`: proved that there is none. */
  within(maxGpus: number, prices: ArrayLike<number>): WaySolution | 'none' | 'too-many' {
    const all = this.#ways.flat()
    let first = 0
    const alternatives = this.#ways.map((ways) => ways.map(() => first++))
    const goal = { maxGpus, maxGpcs: Number.POSITIVE_INFINITY, prices, alternatives }
    const outcome = enumerateTotals(coverProblem(all), goal)
    if (outcome.kind !== 'found') return outcome.kind
    const rowOf = (row: number) => outcome.counts.subarray(row * SIZES, (row + 1) * SIZES)
    const taken = alternatives.map((rows) => rows.find((row) => rowOf(row).some((count) => count > 0))!)
    const demands = taken.map((row) => all[row]!)
    const problem = coverProblem(demands)
    const start = solutionOf(Int32Array.from(taken.flatMap((row) => [...rowOf(row)])))
    return { demands, problem, bound: priceBound(problem), start }
  }

  /** The ways of a service that cost least at some prices. */
  nearest(m: number, prices: ArrayLike<number>, most: number): ServiceDemand[] {
    const ways = this.#ways[m]!
    const problem = coverProblem(ways)
    return ways
      .map((way, w) => ({ way, cost: cheapestCover(problem, w, prices).cost }))
      .sort((a, b) => a.cost - b.cost)
      .slice(0, most)
      .map(({ way }) => way)
  }
}
