import {
  hasFallen,
  isStalled,
  type RateValidity,
  type Telemetry,
  type Tenant,
  type TenantCounters,
  worstValidity,
} from '@pctodl/platform'
import { type Observation, tenantRates } from './observation.js'

/**
 * Outcome of a row. The values of `unsettled` and `thermal` rows are doubtful. Rows with a later status in this list
 * have no values, except some with `unknown`.
 *
 * - `ok`
 * - `unsettled`: power or throughput still drifted when the time for settling ended
 * - `thermal`: the firmware slowed the board down because it was hot
 * - `out-of-memory`: the board has too little memory for a tenant
 * - `crashed`: a tenant died, or was replaced, while it was measured
 * - `no-telemetry`: power could not be read in more than half of the readings
 * - `foreign`: a process that is not a tenant was on the board
 * - `wrong-device`: a tenant ran on another device
 * - `stalled`: a tenant was alive but completed no batch for a part of the window
 * - `too-short`: a tenant completed no batch in the window
 * - `unknown`: a counter fell or is not a number (no values), or the driver did not identify the processes on the board
 *   (doubtful values)
 */
export const rowStatuses = [
  'ok',
  'unsettled',
  'thermal',
  'out-of-memory',
  'crashed',
  'no-telemetry',
  'foreign',
  'wrong-device',
  'stalled',
  'too-short',
  'unknown',
] as const
export type RowStatus = (typeof rowStatuses)[number]

export interface RowFailure {
  readonly status: RowStatus
  readonly message: string
}

function of(i: number, { model, mpsPercent, batchSize }: Tenant, status: RowStatus, why: string): RowFailure {
  return { status, message: `tenant ${i} (${model}, ${mpsPercent} %, batch ${batchSize}): ${why}` }
}

/**
 * The failure of the first tenant that failed, stalled or was restarted since `atStart`; undefined if there is none.
 */
export function failureOf(
  counters: readonly TenantCounters[],
  atStart: readonly TenantCounters[] = counters,
): RowFailure | undefined {
  for (const [i, { id, state, failure = 'the process ended', tenant }] of counters.entries()) {
    if (state === 'failed') return of(i, tenant, /out of memory/i.test(failure) ? 'out-of-memory' : 'crashed', failure)
    if (id !== atStart[i]?.id) return of(i, tenant, 'crashed', 'it was restarted during the measurement')
    if (state === 'stalled') return of(i, tenant, 'stalled', failure)
    if (state !== 'running') return of(i, tenant, 'crashed', `it is ${state}`)
  }
  return undefined
}

/**
 * Returns why a tenant's count of completed batches cannot be trusted; undefined if it can. Compares the counters at
 * both ends of the window, and each reading with the previous one.
 *
 * @param start observation at the beginning of the window
 */
export function doubtOf(start: Observation, window: readonly Observation[]): RowFailure | undefined {
  const end = window.at(-1)!
  const rates = tenantRates(start, end)
  for (const [i, after] of end.counters.entries()) {
    const validity = worstValidity([rates[i]!.validity, ...validitiesOf(start, window, i)])
    if (validity === 'ok') continue
    if (validity === 'failed' || validity === 'restarted') return of(i, after.tenant, 'crashed', `it ${validity}`)
    return of(i, after.tenant, validity, doubts[validity])
  }
  return undefined
}

const doubts = {
  stalled: 'it completed nothing for a part of the window, though it lived',
  'too-short': 'it completed not one batch in the window',
  unknown: 'its counters fell, or are no numbers',
} as const

function* validitiesOf(start: Observation, window: readonly Observation[], i: number): Generator<RateValidity> {
  let before = start.counters[i]!
  for (const { counters, telemetry } of window) {
    const now = counters[i]!
    if (hasFallen(before, now)) yield 'unknown'
    if (isStalled(now, telemetry.timeMs)) yield 'stalled'
    before = now
  }
}

/** Whether the firmware lowered the clock because of heat. */
export function isThermallySlowed({ clocksEventReasons }: Telemetry): boolean {
  return clocksEventReasons.includes('sw-thermal-slowdown') || clocksEventReasons.includes('hw-slowdown')
}

export function statusOf(settled: boolean, window: readonly Observation[]): RowStatus {
  if (window.some(({ telemetry }) => isThermallySlowed(telemetry))) return 'thermal'
  return settled ? 'ok' : 'unsettled'
}
