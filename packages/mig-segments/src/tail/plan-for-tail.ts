import { InvalidInputError } from '@pctodl/platform'
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
import { coverProblem } from '../solve/cover-problem.js'
import { solveHeuristically } from '../solve/heuristic.js'
import { priceBound } from '../solve/price-bound.js'
import { gpcsOf } from '../solve/size-counts.js'
import { solveExactly } from '../solve/solve-exactly.js'
import { explainLate } from './explain-late.js'
import { type ServiceTail, tailsOf } from './service-tails.js'
import { type Dispatch, type TailOption, waysToKeep } from './tail-options.js'
import { withBatchRates } from './tail-points.js'

export interface TailPlanOptions extends Omit<PlanOptions, 'latencyShare'> {
  /**
   * How unevenly requests come: the variance of the gaps between them over their squared mean, 0.1 to 100. Default 1, requests of
   * independent users (Poisson).
   */
  readonly burstiness?: number
  /** How requests reach segments. Default `shared`. */
  readonly dispatch?: Dispatch
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
  const { burstiness = 1, dispatch = 'shared', seed = 1, mostIterations = DEFAULT_MOST_ITERATIONS } = options
  if (!(burstiness >= 0.1 && burstiness <= 100)) {
    throw new InvalidInputError('burstiness', burstiness, 'a number from 0.1 to 100; 1 is Poisson')
  }
  assertLimits({ ...options, mostIterations })
  const rated = withinCap(profiles, objectives, options.powerCap).map(withBatchRates)
  const ways = new Map<string, readonly TailOption[]>()
  const { served: first, unserved } = matchDemands(rated, inOrder(objectives), (objective, profile) => {
    const found = profile ? waysToKeep(profile, objective, burstiness, dispatch) : []
    if (found.length === 0) return explainLate(objective, profile, burstiness, dispatch)
    ways.set(objective.model, found)
    return { objective, ...found[0]! }
  })
  const choice = new WayChoice(first, ways)
  let demands = choice.cheapest(gpcsOf.map((gpcs) => gpcs / 7)).demands
  let least = 0
  for (let round = 0; ; round++) {
    const problem = coverProblem(demands)
    const bound = priceBound(problem)
    const next = choice.cheapest(bound.prices)
    least = Math.max(least, Math.ceil(next.bound - 1e-6))
    if (round < ROUNDS && next.demands.some(({ best }, m) => best !== demands[m]!.best)) {
      demands = next.demands
      continue
    }
    const start = solveHeuristically(problem, bound, { seed })
    const exact = await solveExactly(problem, start, bound, mostIterations)
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
}
