import type { BoardOccupancy, Telemetry, TenantCounters } from '@pctodl/platform'

/** One reading of the board's sensors and of every tenant's counters. */
export interface Observation {
  readonly telemetry: Telemetry
  readonly counters: readonly TenantCounters[]
  /** Processes on the board; absent if no other process can be on it. */
  readonly occupancy?: BoardOccupancy
}

/**
 * Board power of an observation, W. This is the plain reading, as in the Python code's traces, or the instant reading
 * if there is no plain one.
 */
export function powerOf({ telemetry }: Observation): number | null {
  return telemetry.powerAverageW ?? telemetry.powerInstantW
}

/** Mean of a reading over observations; NaN if no observation has it. */
export function meanOf(
  observations: readonly Observation[],
  reading: (observation: Observation) => number | null,
): number {
  let sum = 0
  let count = 0
  for (const observation of observations) {
    const value = reading(observation)
    if (value === null) continue
    sum += value
    count++
  }
  return sum / count
}

/**
 * Throughput of tenant `i` between two observations, samples/s; null if no batch completed in between. It counts from
 * one completed batch to another, so that no batch is counted in part.
 */
export function tenantRate(from: Observation, to: Observation, i: number): number | null {
  const before = from.counters[i]!
  const after = to.counters[i]!
  const spanMs = after.lastCompletionMs - before.lastCompletionMs
  return spanMs > 0 ? ((after.samples - before.samples) / spanMs) * 1000 : null
}

/** Throughput of all tenants, samples/s; null if one of them completed nothing. */
export function totalRate(from: Observation, to: Observation): number | null {
  let sum = 0
  for (let i = 0; i < to.counters.length; i++) {
    const rate = tenantRate(from, to, i)
    if (rate === null) return null
    sum += rate
  }
  return sum
}

/** Mean batch latency of the slowest tenant since it started, ms; Infinity before its first batch. */
export function slowestBatchMs({ counters }: Observation): number {
  let slowest = 0
  for (const { batches, latencySumMs } of counters) {
    slowest = Math.max(slowest, batches > 0 ? latencySumMs / batches : Number.POSITIVE_INFINITY)
  }
  return slowest
}
