import type { ServiceObjective } from '../profile.js'
import type { SimulatedService, SimulationOptions } from './simulate-queue.js'
import { type StatedTraffic, statedArrivals } from './stated-traffic.js'
import { minHolding } from './ways.js'

/** How far a planned service is from missing its objective, by simulation. */
export interface ServiceLimit {
  readonly model: string
  /** Request rate over capacity, 0..1. */
  readonly utilisation: number
  /** 99th percentile of latency at the stated rate, ms: the highest over all stated traffic. */
  readonly p99Ms: number
  readonly latencyMs: number
  /**
   * Rate above which, with some of the stated traffic, more than 1 % of the requests are late, requests/s; 0 if this is
   * so even at the stated rate.
   */
  readonly breaksAtPerS: number
}

const REQUESTS = 20_000
const SEED = 104_729
/** Relative precision of the rates. */
const PRECISION = 0.01

/**
 * Returns for each service its utilisation, its p99, and the rate above which more than 1 % of its requests are late.
 *
 * @param served services with capacities in requests/s
 * @param simulate runs services at the given rates and returns outcomes in their order
 */
export function serviceLimits<T extends ServiceObjective & { readonly capacity: number }>(
  served: readonly T[],
  traffic: StatedTraffic,
  simulate: (served: readonly T[], options: SimulationOptions) => readonly SimulatedService[],
): ServiceLimit[] {
  return served.map((service) => {
    const { model, ratePerS, latencyMs, capacity } = service
    const runs = (factor: number) =>
      statedArrivals(traffic).flatMap((way) =>
        simulate([{ ...service, ratePerS: factor * ratePerS }], { ...way, requests: REQUESTS, seed: SEED }),
      )
    const isLate = (factor: number) => runs(factor).some(({ late, requests }) => late > 0.01 * requests)
    // A queue above its capacity never becomes steady.
    const most = Math.max(1, capacity / ratePerS)
    const next = (factor: number) => (factor < most ? most : Infinity)
    const breaksAt = minHolding(1, next, most, PRECISION, isLate)
    const p99Ms = Math.max(...runs(1).map((run) => run.p99Ms))
    return {
      ...{ model, utilisation: ratePerS / capacity, p99Ms, latencyMs },
      breaksAtPerS: breaksAt === 1 ? 0 : (breaksAt ?? most) * ratePerS,
    }
  })
}

/** Returns the service whose rate can rise by the smallest factor before requests are late, and that factor. */
export function breaksFirst(
  served: readonly ServiceObjective[],
  limits: readonly ServiceLimit[],
): { readonly model: string; readonly factor: number } | null {
  return served.reduce<{ model: string; factor: number } | null>((first, { model, ratePerS }, m) => {
    const factor = limits[m]!.breaksAtPerS / ratePerS
    return first && first.factor <= factor ? first : { model, factor }
  }, null)
}
