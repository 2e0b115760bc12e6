import type { Prediction } from '@pctodl/perf-model'
import { InvalidInputError } from '@pctodl/platform'
import type { Composition } from './composition.js'
import type { SearchProblem } from './search-problem.js'

/** A bound on a tenant's latency or throughput, or on the distance, and how well it is met. */
export interface BrokenBound {
  readonly reason: 'latency-slo' | 'min-throughput' | 'distance'
  /** Index of the tenant in the composition; 0 for the distance. */
  readonly tenant: number
  /** Latency / SLO, required / predicted throughput, or distance / limit: above 1 if the bound is violated. */
  readonly ratio: number
  /** Predicted latency, ms, or throughput, samples/s, or distance. */
  readonly found: number
}

/** Returns the bound with the largest `ratio`; undefined if no bound is violated and no tenant has a bound. */
export function tightestBound(
  problem: SearchProblem,
  composition: Composition,
  prediction: Prediction,
): BrokenBound | undefined {
  const { distance = 0 } = prediction
  let tightest: BrokenBound | undefined
  if (distance > problem.maxDistance) {
    tightest = { reason: 'distance', tenant: 0, ratio: distance / problem.maxDistance, found: distance }
  }
  if (!problem.boundsTenants) return tightest
  for (let i = 0; i < composition.length; i++) {
    const network = problem.kinds.network[composition[i]!]!
    const tenant = prediction.tenants[i]!
    const sloMs = problem.latencySloMs[network]!
    if (sloMs < Infinity) {
      const found = problem.latencyPercentile === 'p99' ? tenant.p99LatencyMs : tenant.latencyMs
      if (found === undefined) {
        throw new InvalidInputError('latencyPercentile', 'p99', "'mean': this predictor gives no p99LatencyMs")
      }
      const ratio = found / sloMs
      if (tightest === undefined || ratio > tightest.ratio)
        tightest = { reason: 'latency-slo', tenant: i, ratio, found }
    }
    const least = problem.minTenantThroughput[network]!
    if (least > 0) {
      const found = tenant.throughput
      const ratio = least / found
      if (tightest === undefined || ratio > tightest.ratio) {
        tightest = { reason: 'min-throughput', tenant: i, ratio, found }
      }
    }
  }
  return tightest
}
