import { traceColumns, traceFields } from '@pctodl/platform'
import { parseTraceCsv, TraceFormatError } from '@pctodl/platform/trace-csv'
import { parse } from 'csv-parse/sync'
import type { ProfileRow } from '../measure/profile-row.js'
import { type RowStatus, rowStatuses } from '../measure/row-status.js'
import { type SweepName, sweepNames } from '../plan/profile-plan.js'

/** Columns after those that every trace of the family has. Times in seconds, lists per tenant. */
const ownColumns = [
  'row',
  'sweep',
  'repeat',
  'status',
  'message',
  'cool_down_s',
  'settle_s',
  'window_s',
  'power_se_pct',
  'throughput_se_pct',
  'energy_j',
  'temperature_c',
  'event_reasons',
  'latency_p50_ms_list',
  'latency_p95_ms_list',
  'latency_p99_ms_list',
  'started_at',
  'board_processes',
  'device_list',
  'batches_list',
] as const

export const profileHeader: string = [...traceColumns, ...ownColumns].join(',')

/** One row as a line without a newline. */
export function formatProfileRow(row: ProfileRow): string {
  const own: Record<(typeof ownColumns)[number], string> = {
    row: String(row.row),
    sweep: row.sweep,
    repeat: String(row.repeat),
    status: row.status,
    message: quoted(row.message),
    cool_down_s: seconds(row.coolDownMs),
    settle_s: seconds(row.settleMs),
    window_s: seconds(row.windowMs),
    power_se_pct: decimal(row.powerErrorPercent, 3),
    throughput_se_pct: decimal(row.throughputErrorPercent, 3),
    energy_j: row.energyJ === null ? '' : row.energyJ.toFixed(3),
    temperature_c: row.temperatureC === null ? '' : row.temperatureC.toFixed(1),
    event_reasons: row.clocksEventReasons.join(' '),
    latency_p50_ms_list: list(row.latencyP50Ms),
    latency_p95_ms_list: list(row.latencyP95Ms),
    latency_p99_ms_list: list(row.latencyP99Ms),
    started_at: row.startedAt,
    board_processes: quoted(row.boardProcesses),
    device_list: quoted(row.devices.join('; ')),
    batches_list: list(row.batches),
  }
  return [...traceFields(row), ...ownColumns.map((column) => own[column])].join(',')
}

/**
 * Read back the profiler's own files.
 *
 * @throws TraceFormatError naming row and column
 */
export function parseProfileCsv(text: string): ProfileRow[] {
  const traceRows = parseTraceCsv(text)
  const records: Record<string, string>[] = parse(text, {
    columns: true,
    bom: true,
    trim: true,
    skip_empty_lines: true,
  })
  return traceRows.map((traceRow, i) => {
    const field = new Field(i + 1, records[i]!)
    return {
      ...traceRow,
      row: field.integer('row'),
      sweep: field.oneOf<SweepName>('sweep', sweepNames),
      repeat: field.integer('repeat'),
      status: field.oneOf<RowStatus>('status', rowStatuses),
      message: field.text('message'),
      coolDownMs: 1000 * field.number('cool_down_s'),
      settleMs: 1000 * field.number('settle_s'),
      windowMs: 1000 * field.number('window_s'),
      powerErrorPercent: field.optional('power_se_pct') ?? Number.NaN,
      throughputErrorPercent: field.optional('throughput_se_pct') ?? Number.NaN,
      energyJ: field.optional('energy_j'),
      temperatureC: field.optional('temperature_c'),
      clocksEventReasons: field.words('event_reasons') as unknown as ProfileRow['clocksEventReasons'],
      latencyP50Ms: field.list('latency_p50_ms_list'),
      latencyP95Ms: field.list('latency_p95_ms_list'),
      latencyP99Ms: field.list('latency_p99_ms_list'),
      startedAt: field.text('started_at'),
      ...parseProvenance(field),
    }
  })
}

/** Columns that files of earlier versions lack. */
export function parseProvenance(field: Field): Pick<ProfileRow, 'boardProcesses' | 'devices' | 'batches'> {
  return {
    boardProcesses: field.has('board_processes') ? field.text('board_processes') : '',
    devices: field.has('device_list')
      ? field
          .text('device_list')
          .split('; ')
          .filter((device) => device !== '')
      : [],
    batches: field.has('batches_list') ? field.list('batches_list') : [],
  }
}

/** The fields of one record of a trace, by column. */
export class Field {
  readonly #row: number
  readonly #record: Readonly<Record<string, string>>

  constructor(row: number, record: Readonly<Record<string, string>>) {
    this.#row = row
    this.#record = record
  }

  has(column: string): boolean {
    return this.#record[column] !== undefined
  }

  text(column: string): string {
    const value = this.#record[column]
    if (value === undefined) throw this.#error(column, '(nothing)', 'a column that the profiler writes')
    return value
  }

  number(column: string): number {
    const value = this.text(column)
    if (value === '' || !Number.isFinite(Number(value))) throw this.#error(column, value, 'a number')
    return Number(value)
  }

  optional(column: string): number | null {
    return this.text(column) === '' ? null : this.number(column)
  }

  integer(column: string): number {
    const value = this.number(column)
    if (!Number.isInteger(value) || value < 0) throw this.#error(column, String(value), 'an integer of at least 0')
    return value
  }

  oneOf<T extends string>(column: string, values: readonly T[]): T {
    const value = values.find((candidate) => candidate === this.text(column))
    if (value === undefined) throw this.#error(column, this.text(column), `one of ${values.join(', ')}`)
    return value
  }

  words(column: string): string[] {
    return this.text(column)
      .split(' ')
      .filter((word) => word !== '')
  }

  list(column: string): number[] {
    const text = this.text(column)
    if (text === '') return []
    return text
      .replace(/^\[|\]$/g, '')
      .split(',')
      .map((value) => Number(value))
  }

  #error(column: string, found: string, expected: string): TraceFormatError {
    return new TraceFormatError(this.#row, column, found, expected)
  }
}

export function seconds(durationMs: number): string {
  return (durationMs / 1000).toFixed(3)
}

export function decimal(value: number, digits: number): string {
  return Number.isNaN(value) ? '' : value.toFixed(digits)
}

export function quoted(text: string): string {
  return text === '' ? '' : `"${text.replaceAll('"', '""').replaceAll(/\s+/g, ' ')}"`
}

function list(values: readonly number[]): string {
  return values.length === 0 ? '' : `"[${values.map((value) => Number(value.toFixed(3))).join(', ')}]"`
}
