import type { BoardOccupancy, Telemetry, TenantCounters } from '@pctodl/platform'

/** One instant: the board's sensors and every tenant's counters. */
export interface Observation {
  readonly telemetry: Telemetry
  readonly counters: readonly TenantCounters[]
  /** Absent where no other process can be on the board. */
  readonly occupancy?: BoardOccupancy
}

/**
 * Board power of an observation, W: the plain reading, as in the Python code's traces; the instant reading where there
 * is no other.
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
 * Throughput of tenant `i` between two observations, samples/s, from one completed batch to another, so that no edge
 * cuts a batch; null if no batch completed in between.
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

/** Mean latency of the slowest tenant's batches since it started, ms; Infinity before its first. */
export function slowestBatchMs({ counters }: Observation): number {
  let slowest = 0
  for (const { batches, latencySumMs } of counters) {
    slowest = Math.max(slowest, batches > 0 ? latencySumMs / batches : Number.POSITIVE_INFINITY)
  }
  return slowest
}
