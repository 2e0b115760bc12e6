import type { Telemetry, TenantCounters } from '@pctodl/platform'
import type { Observation } from './observation.js'

/**
 * What became of a row. `unsettled` and `thermal` rows have values that deserve doubt; the last three have none.
 *
 * - `ok`
 * - `unsettled`: power or throughput still drifted at the limit of settling
 * - `thermal`: the firmware slowed the board down because it was hot
 * - `out-of-memory`: a tenant did not fit
 * - `crashed`: a tenant died, or was replaced, while it was measured
 * - `no-telemetry`: power could not be read in more than half of the window
 */
export const rowStatuses = ['ok', 'unsettled', 'thermal', 'out-of-memory', 'crashed', 'no-telemetry'] as const
export type RowStatus = (typeof rowStatuses)[number]

/** Whether a row with this status has no measurements. */
export function hasFailed(status: RowStatus): boolean {
  return status === 'out-of-memory' || status === 'crashed' || status === 'no-telemetry'
}

export interface RowFailure {
  readonly status: RowStatus
  readonly message: string
}

/** Whether a tenant has failed, or is not the process that it was at the start; undefined while all is well. */
export function failureOf(
  counters: readonly TenantCounters[],
  atStart: readonly TenantCounters[] = counters,
): RowFailure | undefined {
  for (const [i, { id, state, failure = 'the process ended', tenant }] of counters.entries()) {
    const who = `tenant ${i} (${tenant.model}, ${tenant.mpsPercent} %, batch ${tenant.batchSize})`
    if (state === 'failed') {
      const status = /out of memory/i.test(failure) ? 'out-of-memory' : 'crashed'
      return { status, message: `${who}: ${failure}` }
    }
    if (id !== atStart[i]?.id) return { status: 'crashed', message: `${who}: it was restarted during the measurement` }
    if (state !== 'running') return { status: 'crashed', message: `${who}: it is ${state}` }
  }
  return undefined
}

/** Whether heat slowed the board down. */
export function isThermallySlowed({ clocksEventReasons }: Telemetry): boolean {
  return clocksEventReasons.includes('sw-thermal-slowdown') || clocksEventReasons.includes('hw-slowdown')
}

export function statusOf(settled: boolean, window: readonly Observation[]): RowStatus {
  if (window.some(({ telemetry }) => isThermallySlowed(telemetry))) return 'thermal'
  return settled ? 'ok' : 'unsettled'
}
