import { type ClocksEventReason, LatencyHistogram, type TraceRow } from '@pctodl/platform'
import type { PlannedRow } from '../plan/profile-plan.js'
import { meanOf, type Observation, powerOf, tenantRate } from './observation.js'
import type { ProfileRow } from './profile-row.js'
import { windowErrors } from './standard-error.js'

type Measurements = Pick<
  ProfileRow,
  | 'smClockMhz'
  | 'smUtilPercent'
  | 'memUtilPercent'
  | 'throughput'
  | 'powerAverageW'
  | 'powerMaxW'
  | 'tenantThroughput'
  | 'tenantLatencyMs'
  | 'memoryUsedBytes'
  | 'memClockMhz'
  | 'powerErrorPercent'
  | 'throughputErrorPercent'
  | 'energyJ'
  | 'temperatureC'
  | 'clocksEventReasons'
  | 'latencyP50Ms'
  | 'latencyP95Ms'
  | 'latencyP99Ms'
>

/**
 * Computes the means and standard errors of a measuring window.
 *
 * @param start observation at the beginning of the window
 * @param window the observations after it; the last is at the end of the window
 */
export function summarizeWindow(
  planned: PlannedRow,
  start: Observation,
  window: readonly Observation[],
  sampleMs: number,
): Measurements {
  const end = window.at(-1)!
  const errors = windowErrors(start, window, sampleMs)
  const tenantThroughput = end.counters.map((_, i) => tenantRate(start, end, i) ?? 0)
  const reasons = new Set<ClocksEventReason>()
  let powerMaxW = Number.NaN
  for (const observation of window) {
    for (const reason of observation.telemetry.clocksEventReasons) reasons.add(reason)
    const powerW = powerOf(observation)
    if (powerW !== null && !(powerW <= powerMaxW)) powerMaxW = powerW
  }
  const temperatureC = meanOf(window, ({ telemetry }) => telemetry.temperatureC)
  return {
    memClockMhz: planned.memClockMhz ?? meanOf(window, ({ telemetry }) => telemetry.memClockMhz),
    smClockMhz: meanOf(window, ({ telemetry }) => telemetry.smClockMhz),
    smUtilPercent: meanOf(window, ({ telemetry }) => telemetry.smUtilPercent),
    memUtilPercent: meanOf(window, ({ telemetry }) => telemetry.memUtilPercent),
    throughput: tenantThroughput.reduce((sum, rate) => sum + rate, 0),
    powerAverageW: meanOf(window, powerOf),
    powerMaxW,
    tenantThroughput,
    tenantLatencyMs: meanLatencies(start, end),
    memoryUsedBytes: end.telemetry.memoryUsedBytes,
    powerErrorPercent: errors.powerPercent,
    throughputErrorPercent: errors.throughputPercent,
    energyJ: energyBetween(start, end),
    temperatureC: Number.isNaN(temperatureC) ? null : temperatureC,
    clocksEventReasons: [...reasons].sort(),
    latencyP50Ms: latencyQuantiles(start, end, 0.5),
    latencyP95Ms: latencyQuantiles(start, end, 0.95),
    latencyP99Ms: latencyQuantiles(start, end, 0.99),
  }
}

/** Values of the measured fields in a row that could not be measured. */
export function nothingMeasured(planned: PlannedRow, memClockMhz: number): Measurements {
  const unknown: Pick<TraceRow, 'smClockMhz' | 'smUtilPercent' | 'memUtilPercent' | 'throughput'> = {
    smClockMhz: Number.NaN,
    smUtilPercent: Number.NaN,
    memUtilPercent: Number.NaN,
    throughput: Number.NaN,
  }
  return {
    ...unknown,
    memClockMhz: planned.memClockMhz ?? memClockMhz,
    powerAverageW: Number.NaN,
    powerMaxW: Number.NaN,
    tenantThroughput: [],
    tenantLatencyMs: [],
    memoryUsedBytes: null,
    powerErrorPercent: Number.NaN,
    throughputErrorPercent: Number.NaN,
    energyJ: null,
    temperatureC: null,
    clocksEventReasons: [],
    latencyP50Ms: [],
    latencyP95Ms: [],
    latencyP99Ms: [],
  }
}

function meanLatencies(start: Observation, end: Observation): number[] {
  return end.counters.map((counter, i) => {
    const before = start.counters[i]!
    const batches = counter.batches - before.batches
    return batches > 0 ? (counter.latencySumMs - before.latencySumMs) / batches : 0
  })
}

function latencyQuantiles(start: Observation, end: Observation, share: number): number[] {
  const quantiles = end.counters.map(({ latencies }, i) => {
    const before = start.counters[i]?.latencies
    return latencies instanceof LatencyHistogram && before ? latencies.since(before).quantileMs(share) : Number.NaN
  })
  return quantiles.every((value) => Number.isFinite(value)) ? quantiles : []
}

function energyBetween(start: Observation, end: Observation): number | null {
  const before = start.telemetry.energyJ
  const after = end.telemetry.energyJ
  return before === null || after === null ? null : after - before
}
