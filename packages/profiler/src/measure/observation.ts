import { mean } from '@pctodl/numerics'
import type { BoardOccupancy, Telemetry, TenantCounters } from '@pctodl/platform'

/** A reading of the board's sensors and, from the same moment, every tenant's counters. */
export interface Observation {
  readonly telemetry: Telemetry
  readonly counters: readonly TenantCounters[]
  /** Processes on the board; absent if no other process can be on it. */
  readonly occupancy?: BoardOccupancy
}

/**
 * Board power of an observation, W. This is NVML's averaged reading, as in the Python code's traces, or the instant
 * reading if the board has no averaged one.
 */
export function powerOf({ telemetry }: Observation): number | null {
  return telemetry.powerAverageW ?? telemetry.powerInstantW
}

/** Mean of a sensor value over observations that have it; NaN if none has. */
export function meanOf(
  observations: readonly Observation[],
  reading: (observation: Observation) => number | null,
): number {
  return mean(observations.flatMap((observation) => reading(observation) ?? []))
}

/**
 * Throughput of tenant `i` between two observations, samples/s; null if it completed no batch in between. Time is
 * counted from one completed batch to another, so that only whole batches count.
 */
export function tenantRate(from: Observation, to: Observation, i: number): number | null {
  const before = from.counters[i]!
  const after = to.counters[i]!
  const spanMs = after.lastCompletionMs - before.lastCompletionMs
  return spanMs > 0 ? ((after.samples - before.samples) / spanMs) * 1000 : null
}

/** Throughput of all tenants, samples/s; null if one of them completed no batch. */
export function totalRate(from: Observation, to: Observation): number | null {
  const rates = to.counters.map((_, i) => tenantRate(from, to, i))
  return rates.includes(null) ? null : rates.reduce<number>((sum, rate) => sum + rate!, 0)
}

/**
 * Mean batch latency of the slowest tenant since the tenants started, ms; Infinity before the first batch of any of
 * them.
 */
export function slowestBatchMs({ counters }: Observation): number {
  const means = counters.map(({ batches, latencySumMs }) =>
    batches > 0 ? latencySumMs / batches : Number.POSITIVE_INFINITY,
  )
  return Math.max(0, ...means)
}
