import { type ClocksEventReason, traceColumns, traceFields } from '@pctodl/platform'
import { parseTraceCsv } from '@pctodl/platform/trace-csv'
import type { ProfileRow } from '../measure/profile-row.js'
import { sweepNames } from '../plan/profile-plan.js'
import {
  boardProcesses,
  type Column,
  decimal,
  energy,
  formatRow,
  list,
  outcome,
  powerError,
  quoted,
  readRow,
  recordsOf,
  row,
  seconds,
  startedAt,
  temperature,
} from './columns.js'

/** Columns that follow those that all traces have. Times are in seconds; lists have one entry per tenant. */
const ownColumns: readonly Column[] = [
  row,
  { name: 'sweep', write: (row) => row.sweep, read: (field) => ({ sweep: field.oneOf(sweepNames) }) },
  ...outcome,
  seconds('window_s', 'windowMs'),
  powerError,
  decimal('throughput_se_pct', 'throughputErrorPercent', 3),
  energy,
  temperature,
  {
    name: 'event_reasons',
    write: (row) => row.clocksEventReasons.join(' '),
    read: (field) => ({ clocksEventReasons: field.text.split(' ').filter(Boolean) as ClocksEventReason[] }),
  },
  list('latency_p50_ms_list', 'latencyP50Ms'),
  list('latency_p95_ms_list', 'latencyP95Ms'),
  list('latency_p99_ms_list', 'latencyP99Ms'),
  startedAt,
  boardProcesses,
  {
    name: 'device_list',
    write: (row) => quoted(row.devices.join('; ')),
    read: ({ found = '' }) => ({ devices: found.split('; ').filter(Boolean) }),
  },
  list('batches_list', 'batches', { isOptional: true }),
]

export const profileHeader: string = [...traceColumns, ...ownColumns.map(({ name }) => name)].join(',')

/** Formats a row as a line without the newline. */
export function formatProfileRow(row: ProfileRow): string {
  return [...traceFields(row), formatRow(ownColumns, row)].join(',')
}

/**
 * Parses a profile that `formatProfileRow` wrote.
 *
 * @throws TraceFormatError naming row and column
 */
export function parseProfileCsv(text: string): ProfileRow[] {
  const records = recordsOf(text)
  return parseTraceCsv(text).map((traceRow, i) => {
    return { ...traceRow, ...readRow(ownColumns, i + 1, records[i]!) } as ProfileRow
  })
}
