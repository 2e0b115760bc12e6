import type { ServiceObjective } from '../profile.js'
import type { SimulatedService, SimulationOptions } from './simulate-queue.js'
import { type StatedTraffic, statedArrivals } from './stated-traffic.js'

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
  const ways = statedArrivals(traffic)
  const met = (factors: readonly number[]) => {
    const raised = served.map((service, m) => ({ ...service, ratePerS: factors[m]! * service.ratePerS }))
    const runs = ways.map((way) => simulate(raised, { ...way, requests: REQUESTS, seed: SEED }))
    return served.map((_, m) => ({
      late: Math.max(...runs.map((run) => run[m]!.late / run[m]!.requests)),
      p99Ms: Math.max(...runs.map((run) => run[m]!.p99Ms)),
    }))
  }
  const now = met(served.map(() => 1))
  const low = Float64Array.from(now, ({ late }) => (late > 0.01 ? 0 : 1))
  // A queue above its capacity never becomes steady.
  const high = Float64Array.from(served, ({ ratePerS, capacity }, m) =>
    low[m] === 0 ? 0 : Math.max(1, capacity / ratePerS),
  )
  while (high.some((each, m) => each - low[m]! > PRECISION * each)) {
    const middle = high.map((each, m) => (each + low[m]!) / 2)
    met([...middle].map((factor) => factor || 1)).forEach(({ late }, m) => {
      if (late > 0.01) high[m] = middle[m]!
      else low[m] = middle[m]!
    })
  }
  return served.map(({ model, ratePerS, latencyMs, capacity }, m) => ({
    ...{ model, utilisation: ratePerS / capacity, p99Ms: now[m]!.p99Ms, latencyMs },
    breaksAtPerS: low[m]! * ratePerS,
  }))
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
