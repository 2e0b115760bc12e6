import { sum } from '@pctodl/numerics'
import { LatencyHistogram } from '@pctodl/platform'
import { meanOf, type Observation, powerOf, tenantRates } from './observation.js'
import type { Measurements } from './profile-row.js'
import type { Provenance } from './provenance.js'
import { windowErrors } from './standard-error.js'

/**
 * Computes the means and standard errors of a measuring window.
 *
 * @param start observation at the beginning of the window
 * @param window the observations after it; the last is at the end of the window
 */
export function summarizeWindow(
  start: Observation,
  window: readonly Observation[],
  sampleMs: number,
): Omit<Measurements, keyof Provenance> {
  const end = window.at(-1)!
  const errors = windowErrors(start, window, sampleMs)
  const rates = tenantRates(start, end)
  const tenantThroughput = rates.map(({ samplesPerS }) => samplesPerS ?? 0)
  const meanReading = (field: 'smClockMhz' | 'smUtilPercent' | 'memUtilPercent' | 'temperatureC') =>
    meanOf(window, ({ telemetry }) => telemetry[field])
  const temperatureC = meanReading('temperatureC')
  return {
    smClockMhz: meanReading('smClockMhz'),
    smUtilPercent: meanReading('smUtilPercent'),
    memUtilPercent: meanReading('memUtilPercent'),
    throughput: sum(tenantThroughput),
    powerAverageW: meanOf(window, powerOf),
    powerMaxW: window
      .map(powerOf)
      .reduce<number>((max, powerW) => (powerW === null || powerW <= max ? max : powerW), Number.NaN),
    tenantThroughput,
    tenantLatencyMs: rates.map(({ latencySumMs, batches }) => latencySumMs / Math.max(1, batches)),
    memoryUsedBytes: end.telemetry.memoryUsedBytes,
    powerErrorPercent: errors.powerPercent,
    throughputErrorPercent: errors.throughputPercent,
    energyJ: energyBetween(start, end),
    temperatureC: Number.isNaN(temperatureC) ? null : temperatureC,
    clocksEventReasons: [...new Set(window.flatMap(({ telemetry }) => telemetry.clocksEventReasons))].sort(),
    latencyP50Ms: latencyQuantiles(start, end, 0.5),
    latencyP95Ms: latencyQuantiles(start, end, 0.95),
    latencyP99Ms: latencyQuantiles(start, end, 0.99),
  }
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
