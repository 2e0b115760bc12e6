import { type ClocksEventReason, traceColumns, traceFields } from '@pctodl/platform'
import { parseTraceCsv, TraceFormatError } from '@pctodl/platform/trace-csv'
import { parse } from 'csv-parse/sync'
import { nothingMeasured, type ProfileRow } from '../measure/profile-row.js'
import { rowStatuses } from '../measure/row-status.js'
import { sweepNames } from '../plan/profile-plan.js'

/** The format of one CSV file: its header, and one line without its newline per row. */
export interface TraceTable {
  readonly header: string
  format(row: ProfileRow): string
  /** @throws TraceFormatError naming row and column */
  parse(text: string): ProfileRow[]
}

/** Throws the error for an invalid cell. */
type Refuse = (expected: string) => never

/** How a value is written to a cell, and read from its text. */
type Form<T> = readonly [write: (value: T) => string, read: (text: string, refuse: Refuse) => T]

/** A column: its name, how a row's value is written, and which field of a row is read from it. */
interface Column {
  readonly name: string
  readonly write: (row: ProfileRow) => string
  readonly read: (text: string, refuse: Refuse) => Partial<ProfileRow>
}

function column<K extends keyof ProfileRow>(name: string, key: K, [write, read]: Form<ProfileRow[K]>): Column {
  return { name, write: (row) => write(row[key]), read: (text, refuse) => ({ [key]: read(text, refuse) }) }
}

function numberOf(text: string, refuse: Refuse): number {
  return text === '' || !Number.isFinite(Number(text)) ? refuse('a number') : Number(text)
}

const number: Form<number> = [String, numberOf]
const integer: Form<number> = [
  String,
  (text, refuse) => {
    const value = numberOf(text, refuse)
    return Number.isInteger(value) && value >= 0 ? value : refuse('an integer of at least 0')
  },
]
/** Seconds in the file, milliseconds in the row. */
const seconds: Form<number> = [(ms) => (ms / 1000).toFixed(3), (text, refuse) => 1000 * numberOf(text, refuse)]
/** Blank if the number is NaN, that is, unknown. */
const decimal = (digits: number): Form<number> => [
  (value) => (Number.isNaN(value) ? '' : value.toFixed(digits)),
  (text, refuse) => (text === '' ? Number.NaN : numberOf(text, refuse)),
]
/** Blank for null; exact without `digits`. */
const nullable = (digits?: number): Form<number | null> => [
  (value) => (digits === undefined ? value?.toString() : value?.toFixed(digits)) ?? '',
  (text, refuse) => (text === '' ? null : numberOf(text, refuse)),
]
/** One number for each tenant. */
const numbers: Form<readonly number[]> = [
  (values) => quoted(values.length === 0 ? '' : `[${values.map((value) => Number(value.toFixed(3))).join(', ')}]`),
  (text) => splitAt(text.replace(/^\[|\]$/g, ''), ',').map(Number),
]
const plain: Form<string> = [String, (text) => text]
const text: Form<string> = [quoted, plain[1]]
const oneOf = <T extends string>(values: readonly T[]): Form<T> => [
  String,
  (text, refuse) => values.find((value) => value === text) ?? refuse(`one of ${values.join(', ')}`),
]

function quoted(value: string): string {
  return value === '' ? '' : `"${value.replaceAll('"', '""').replaceAll(/\s+/g, ' ')}"`
}

function splitAt(text: string, separator: string): string[] {
  return text.split(separator).filter(Boolean)
}

/** Columns that say how a row was measured. Both files have them. */
const outcome = [
  column('repeat', 'repeat', integer),
  column('status', 'status', oneOf(rowStatuses)),
  column('message', 'message', text),
  column('cool_down_s', 'coolDownMs', seconds),
  column('settle_s', 'settleMs', seconds),
]
const row = column('row', 'row', integer)
const powerError = column('power_se_pct', 'powerErrorPercent', decimal(3))
const energy = column('energy_j', 'energyJ', nullable(3))
const temperature = column('temperature_c', 'temperatureC', nullable(1))
const startedAt = column('started_at', 'startedAt', plain)
const boardProcesses = column('board_processes', 'boardProcesses', text)

/** Columns that follow those that all traces have. */
const ownColumns: readonly Column[] = [
  row,
  column('sweep', 'sweep', oneOf(sweepNames)),
  ...outcome,
  column('window_s', 'windowMs', seconds),
  powerError,
  column('throughput_se_pct', 'throughputErrorPercent', decimal(3)),
  energy,
  temperature,
  column('event_reasons', 'clocksEventReasons', [
    (reasons) => reasons.join(' '),
    (text) => splitAt(text, ' ') as ClocksEventReason[],
  ]),
  column('latency_p50_ms_list', 'latencyP50Ms', numbers),
  column('latency_p95_ms_list', 'latencyP95Ms', numbers),
  column('latency_p99_ms_list', 'latencyP99Ms', numbers),
  startedAt,
  boardProcesses,
  column('device_list', 'devices', [(devices) => quoted(devices.join('; ')), (text) => splitAt(text, '; ')]),
  column('batches_list', 'batches', numbers),
]

/**
 * Columns of a static power file: first those of the Python code, then the profiler's own. A blank `sm_freq` means that
 * the firmware chose the SM clock.
 */
const staticColumns: readonly Column[] = [
  column('sm_freq', 'targetSmClockMhz', nullable()),
  column('mem_freq', 'memClockMhz', number),
  column('measured_sm_freq', 'smClockMhz', decimal(1)),
  column('duration', 'windowMs', seconds),
  column('sm_util', 'smUtilPercent', decimal(1)),
  column('mem_util', 'memUtilPercent', decimal(1)),
  column('power_avg', 'powerAverageW', decimal(2)),
  column('power_max', 'powerMaxW', decimal(2)),
  row,
  ...outcome,
  powerError,
  energy,
  temperature,
  startedAt,
  boardProcesses,
]

/** Rows with tenants. */
export const profileTable: TraceTable = {
  header: [...traceColumns, ...ownColumns.map(({ name }) => name)].join(','),
  format: (row) => [...traceFields(row), ...cellsOf(ownColumns, row)].join(','),
  parse: (text) => {
    const own = readRows(ownColumns, text)
    return parseTraceCsv(text).map((traceRow, i) => ({ ...traceRow, ...own[i] }) as ProfileRow)
  },
}

/** Rows without tenants: the static power of the board. */
export const staticTable: TraceTable = {
  header: staticColumns.map(({ name }) => name).join(','),
  format: (row) => cellsOf(staticColumns, row).join(','),
  parse: (text) =>
    readRows(staticColumns, text).map((own) => {
      const failed = Number.isNaN(own.powerAverageW)
      return { ...nothingMeasured, sweep: 'static', tenants: [], throughput: 0, ...own, failed } as ProfileRow
    }),
}

function cellsOf(columns: readonly Column[], row: ProfileRow): string[] {
  return columns.map(({ write }) => write(row))
}

function readRows(columns: readonly Column[], text: string): Partial<ProfileRow>[] {
  const records: Record<string, string>[] = parse(text, {
    columns: true,
    bom: true,
    trim: true,
    skip_empty_lines: true,
  })
  return records.map((record, i) => {
    const fields = columns.map(({ name, read }) => {
      const refuse = (expected: string): never => {
        throw new TraceFormatError(i + 1, name, record[name] ?? '', expected)
      }
      return read(record[name] ?? refuse('a column that the profiler writes'), refuse)
    })
    return Object.assign({}, ...fields)
  })
}
