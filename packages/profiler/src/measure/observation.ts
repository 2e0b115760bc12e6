import { mean, sum } from '@pctodl/numerics'
import { type BoardOccupancy, type Telemetry, type TenantCounters, tenantRate } from '@pctodl/platform'

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

/** What each tenant completed between two observations, and how reliable this is. */
export function tenantRates(from: Observation, to: Observation): ReturnType<typeof tenantRate>[] {
  return to.counters.map((after, i) => tenantRate(from.counters[i], after, from.telemetry.timeMs, to.telemetry.timeMs))
}

/** Throughput of all tenants, samples/s; null if the rate of one of them is not reliable. */
export function totalRate(from: Observation, to: Observation): number | null {
  const rates = tenantRates(from, to)
  return rates.every(({ validity }) => validity === 'ok') ? sum(rates.map(({ samplesPerS }) => samplesPerS!)) : null
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
