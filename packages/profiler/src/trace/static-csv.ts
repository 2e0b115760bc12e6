import type { ProfileRow } from '../measure/profile-row.js'
import {
  boardProcesses,
  type Column,
  decimal,
  energy,
  formatRow,
  nullable,
  outcome,
  powerError,
  readRow,
  recordsOf,
  row,
  seconds,
  startedAt,
  temperature,
} from './columns.js'

/**
 * Columns of a static power file: first those of the Python code, then the profiler's own. A blank `sm_freq` means that
 * the firmware chose the SM clock.
 */
const staticColumns: readonly Column[] = [
  nullable('sm_freq', 'targetSmClockMhz'),
  { name: 'mem_freq', write: (row) => String(row.memClockMhz), read: (field) => ({ memClockMhz: field.number }) },
  decimal('measured_sm_freq', 'smClockMhz', 1),
  seconds('duration', 'windowMs'),
  decimal('sm_util', 'smUtilPercent', 1),
  decimal('mem_util', 'memUtilPercent', 1),
  decimal('power_avg', 'powerAverageW', 2),
  decimal('power_max', 'powerMaxW', 2),
  row,
  ...outcome,
  powerError,
  energy,
  temperature,
  startedAt,
  boardProcesses,
]

/** Fields that the file does not contain, with their values in a row without tenants. */
const withoutWork = {
  sweep: 'static',
  tenants: [],
  throughput: 0,
  tenantThroughput: [],
  tenantLatencyMs: [],
  memoryUsedBytes: null,
  throughputErrorPercent: Number.NaN,
  clocksEventReasons: [],
  latencyP50Ms: [],
  latencyP95Ms: [],
  latencyP99Ms: [],
  devices: [],
  batches: [],
} as const

export const staticHeader: string = staticColumns.map(({ name }) => name).join(',')

/** Formats a row without tenants as a line without the newline. */
export function formatStaticRow(row: ProfileRow): string {
  return formatRow(staticColumns, row)
}

/**
 * Parses a static power file.
 *
 * @throws TraceFormatError naming row and column
 */
export function parseStaticCsv(text: string): ProfileRow[] {
  return recordsOf(text).map((record, i) => {
    const own = readRow(staticColumns, i + 1, record)
    return { ...withoutWork, ...own, failed: Number.isNaN(own.powerAverageW) } as ProfileRow
  })
}
