import { segmentSizes } from '@pctodl/mig-deploy'
import { InvalidInputError } from '@pctodl/platform'
import { type ServiceObjective, type ServiceProfile, throughputOf } from '../profile.js'
import type { UnservedService } from '../segment-plan.js'
import type { ServiceDemand } from '../service-demand.js'
import { SIZES } from '../solve/size-counts.js'
import { type DayGate, dayDemands } from './day-demands.js'

/** What boards draw, and what changing a map takes. */
export interface DayCosts {
  /** Length of a period, s. */
  readonly periodS: number
  /** Time from the start of a segment's creation until it serves: instance, processes, weights; s. */
  readonly migrationS: number
  /** Watts of a board with instances while nothing runs on them. */
  readonly idleW: number
  /** Watts of a board without instances; 0 where it is switched off or given back. */
  readonly parkedW: number
}

/** Services over periods in numbers. By service and size: `throughput`, `powerW`. By period and service: `rates`, `needs`. */
export interface DayProblem extends DayCosts {
  readonly served: readonly ServiceDemand[]
  readonly unserved: readonly UnservedService[]
  readonly periods: number
  readonly rates: Float64Array
  /** Items/s that the segments of a service must have together; at least the rate. */
  readonly needs: Float64Array
  /** Items/s of a segment; 0 where the service cannot run in that size. */
  readonly throughput: Float64Array
  /** Watts that a segment adds to an idle board while it is fully used. */
  readonly powerW: Float64Array
}

/**
 * @param periods the objectives of each period; a service that is not in one gets no requests in it
 * @throws InvalidInputError for costs out of range, latencies that change, and points without measured power
 */
export function dayProblem(
  profiles: readonly ServiceProfile[],
  periods: readonly (readonly ServiceObjective[])[],
  costs: DayCosts,
  gate: DayGate,
): DayProblem {
  assertCosts(costs)
  if (!(periods.length >= 1 && periods.length <= MOST_PERIODS)) {
    throw new InvalidInputError('periods', periods.length, `1 to ${MOST_PERIODS} periods`)
  }
  const peaks = new Map<string, ServiceObjective>()
  for (const period of periods) {
    for (const objective of period) {
      const peak = peaks.get(objective.model) ?? objective
      if (peak.latencyMs !== objective.latencyMs) {
        throw new InvalidInputError(
          `objective of ${objective.model}: latencyMs`,
          objective.latencyMs,
          `${peak.latencyMs}, as in the periods before; a schedule follows rates only`,
        )
      }
      if (objective.ratePerS >= peak.ratePerS) peaks.set(objective.model, objective)
      else peaks.set(objective.model, peak)
    }
  }
  const order = [...peaks.values()].sort((a, b) => (a.model < b.model ? -1 : 1))
  const { served, unserved, neededFor } = dayDemands(profiles, order, gate)
  const throughput = new Float64Array(served.length * SIZES)
  const powerW = new Float64Array(served.length * SIZES)
  served.forEach(({ objective, best }, m) => {
    segmentSizes.forEach((size, s) => {
      const point = best.get(size)
      if (!point) return
      if (point.powerW === undefined) {
        throw new InvalidInputError(
          `profile of ${objective.model}`,
          point.powerW,
          'measured power with each point (a sixth column, Power): a schedule saves energy',
        )
      }
      throughput[m * SIZES + s] = throughputOf(point)
      powerW[m * SIZES + s] = point.powerW
    })
  })
  const rates = new Float64Array(periods.length * served.length)
  periods.forEach((period, h) => {
    served.forEach(({ objective: { model } }, m) => {
      rates[h * served.length + m] = period.find((objective) => objective.model === model)?.ratePerS ?? 0
    })
  })
  const needs = rates.map((rate, i) => neededFor(i % served.length, rate))
  return { ...costs, served, unserved, periods: periods.length, rates, needs, throughput, powerW }
}

/** Periods of a schedule: a day of quarters of an hour. */
const MOST_PERIODS = 96

function assertCosts({ periodS, migrationS, idleW, parkedW }: DayCosts): void {
  if (!(periodS > 0 && Number.isFinite(periodS))) throw new InvalidInputError('periodS', periodS, 'seconds above 0')
  if (!(migrationS >= 0 && migrationS <= periodS)) {
    throw new InvalidInputError('migrationS', migrationS, `seconds from 0 to a period, ${periodS}`)
  }
  if (!(idleW >= 0 && Number.isFinite(idleW))) throw new InvalidInputError('idleW', idleW, 'watts of at least 0')
  if (!(parkedW >= 0 && parkedW <= idleW)) {
    throw new InvalidInputError('parkedW', parkedW, `watts from 0 to those of a board with instances, ${idleW}`)
  }
}

/**
 * Watts that a service's segments add to idle boards while they answer a rate: requests go to the segments with the least energy a request
 * first, each up to what it can answer.
 *
 * @param counts by service and size
 */
export function servingW(
  { throughput, powerW }: DayProblem,
  m: number,
  counts: ArrayLike<number>,
  rate: number,
): number {
  const order = segmentSizes.map((_, s) => m * SIZES + s).filter((i) => counts[i]! > 0 && throughput[i]! > 0)
  order.sort((a, b) => powerW[a]! / throughput[a]! - powerW[b]! / throughput[b]!)
  let left = rate
  let watts = 0
  for (const i of order) {
    const answered = Math.min(left, counts[i]! * throughput[i]!)
    watts += (answered * powerW[i]!) / throughput[i]!
    left -= answered
  }
  return watts
}
