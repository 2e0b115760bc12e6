import type { ServiceObjective, ServiceProfile } from '../profile.js'
import { type Demands, demandsOf, matchDemands, type ServiceDemand } from '../service-demand.js'
import { cheapestCover } from '../solve/cheapest-cover.js'
import { coverProblem } from '../solve/cover-problem.js'
import { gpcsOf } from '../solve/size-counts.js'
import { cannotKeep } from '../tail/explain-late.js'
import { capacityFor, waysToKeep } from '../tail/tail-options.js'
import { roomOf, type TimesLate } from '../tail/until-kept.js'

/** How it is judged whether segments keep an objective. */
export type DayGate =
  | { readonly kind: 'latency'; readonly latencyShare?: number | undefined }
  | {
      readonly kind: 'tail'
      readonly burstiness: number
      readonly times: TimesLate
    }

/** How each service runs all day, and the items/s that it needs for a rate, at most those of its highest rate. */
export interface DayDemands extends Demands {
  readonly neededFor: (m: number, ratePerS: number) => number
}

/**
 * Of each service the way to run it that is cheapest at its highest rate, in compute slices; segments run so all day, so that a lower rate needs
 * fewer of them and no restarts.
 *
 * @param profiles for `tail` as `withBatchRates` has them
 * @param peaks the objectives with the highest rates of the day
 */
export function dayDemands(
  profiles: readonly ServiceProfile[],
  peaks: readonly ServiceObjective[],
  gate: DayGate,
): DayDemands {
  if (gate.kind === 'latency') {
    return { ...demandsOf(profiles, peaks, gate.latencyShare), neededFor: (_, ratePerS) => ratePerS }
  }
  const byModel = new Map(profiles.map((profile) => [profile.model, profile]))
  const { burstiness, times } = gate
  const roomFor = ({ model, ratePerS, latencyMs }: ServiceObjective) => {
    const room = roomOf(times, model)
    return room && { objective: { model, latencyMs, ratePerS: ratePerS * room.margin }, mostLate: room.mostLate }
  }
  const { served, unserved } = matchDemands(profiles, peaks, (objective, profile) => {
    const room = roomFor(objective)
    const ways = profile && room ? waysToKeep(profile, room.objective, burstiness, 'shared', room.mostLate) : []
    if (ways.length === 0) return cannotKeep(objective, profile)
    return cheapest(ways.map((way) => ({ objective, ...way })))
  })
  return {
    served,
    unserved,
    neededFor: (m, ratePerS) => {
      const { objective, best, capacityPerS } = served[m]!
      if (ratePerS === 0) return 0
      const { objective: roomy, mostLate } = roomFor({ ...objective, ratePerS })!
      const needed = capacityFor(byModel.get(objective.model)!, best, roomy, burstiness, mostLate)
      // What keeps the highest rate keeps every other.
      return Math.min(capacityPerS!, needed ?? Number.POSITIVE_INFINITY)
    },
  }
}

function cheapest(ways: readonly ServiceDemand[]): ServiceDemand {
  const problem = coverProblem(ways)
  const costs = ways.map((_, w) => cheapestCover(problem, w, gpcsOf).cost)
  return ways[costs.indexOf(Math.min(...costs))]!
}
