import { TraceFormatError } from '@pctodl/platform/trace-csv'
import { parse } from 'csv-parse/sync'
import type { ProfileRow } from '../measure/profile-row.js'
import { rowStatuses } from '../measure/row-status.js'

/** A column of a CSV file: its name, how a row's value is written, and which fields of a row are read from it. */
export interface Column {
  readonly name: string
  readonly write: (row: ProfileRow) => string
  readonly read: (field: Field) => Partial<ProfileRow>
}

/** Parses a CSV file into records: one value per column name. */
export function recordsOf(text: string): Record<string, string>[] {
  return parse(text, { columns: true, bom: true, trim: true, skip_empty_lines: true })
}

/** Formats a row as a line without the newline. */
export function formatRow(columns: readonly Column[], row: ProfileRow): string {
  return columns.map(({ write }) => write(row)).join(',')
}

/**
 * Reads the fields of a row from a record.
 * @throws TraceFormatError naming row and column
 */
export function readRow(columns: readonly Column[], row: number, record: Record<string, string>): Partial<ProfileRow> {
  return Object.assign({}, ...columns.map(({ name, read }) => read(new Field(row, name, record[name]))))
}

/** One field of a record. */
class Field {
  readonly #row: number
  readonly #column: string
  readonly #text: string | undefined

  constructor(row: number, column: string, text: string | undefined) {
    this.#row = row
    this.#column = column
    this.#text = text
  }

  /** Text of the cell; undefined if the file's version lacks the column. */
  get found(): string | undefined {
    return this.#text
  }

  get text(): string {
    if (this.#text === undefined) throw this.#error('(nothing)', 'a column that the profiler writes')
    return this.#text
  }

  get number(): number {
    if (this.text === '' || !Number.isFinite(Number(this.text))) throw this.#error(this.text, 'a number')
    return Number(this.text)
  }

  get optional(): number | null {
    return this.text === '' ? null : this.number
  }

  get integer(): number {
    const value = this.number
    if (!Number.isInteger(value) || value < 0) throw this.#error(String(value), 'an integer of at least 0')
    return value
  }

  oneOf<T extends string>(values: readonly T[]): T {
    const value = values.find((candidate) => candidate === this.text)
    if (value === undefined) throw this.#error(this.text, `one of ${values.join(', ')}`)
    return value
  }

  #error(found: string, expected: string): TraceFormatError {
    return new TraceFormatError(this.#row, this.#column, found, expected)
  }
}

/** Names of the row's fields whose values have type `T`. */
type KeyOf<T> = { [K in keyof ProfileRow]: ProfileRow[K] extends T ? K : never }[keyof ProfileRow] & keyof ProfileRow

export const integer = (name: string, key: KeyOf<number>): Column => ({
  name,
  write: (row) => String(row[key]),
  read: (field) => ({ [key]: field.integer }),
})

/** A column in seconds for a row's field in milliseconds. */
export const seconds = (name: string, key: KeyOf<number>): Column => ({
  name,
  write: (row) => (row[key] / 1000).toFixed(3),
  read: (field) => ({ [key]: 1000 * field.number }),
})

/** A column for a number, written with the given number of decimals. The cell is blank if the number is NaN (unknown). */
export const decimal = (name: string, key: KeyOf<number>, digits: number): Column => ({
  name,
  write: (row) => (Number.isNaN(row[key]) ? '' : row[key].toFixed(digits)),
  read: (field) => ({ [key]: field.optional ?? Number.NaN }),
})

/**
 * A column for a number or null, written with the given number of decimals or, without it, exactly. The cell is blank for
 * null.
 */
export const nullable = (name: string, key: KeyOf<number | null>, digits?: number): Column => ({
  name,
  write: (row) => (digits === undefined ? row[key]?.toString() : row[key]?.toFixed(digits)) ?? '',
  read: (field) => ({ [key]: field.optional }),
})

/** A column with one number per tenant. An optional column may be missing in files of older versions. */
export const list = (
  name: string,
  key: KeyOf<readonly number[]>,
  { isOptional = false }: { readonly isOptional?: boolean } = {},
): Column => ({
  name,
  write: (row) => (row[key].length === 0 ? '' : `"[${row[key].map((value) => Number(value.toFixed(3))).join(', ')}]"`),
  read: (field) => {
    const text = isOptional ? (field.found ?? '') : field.text
    const figures = text.replace(/^\[|\]$/g, '').split(',')
    return { [key]: text === '' ? [] : figures.map(Number) }
  },
})

export function quoted(text: string): string {
  return text === '' ? '' : `"${text.replaceAll('"', '""').replaceAll(/\s+/g, ' ')}"`
}

/** Index of the row in the plan. Both the profile file and the static power file have this column. */
export const row: Column = integer('row', 'row')
/** Columns that say how a row was measured. Both the profile file and the static power file have them. */
export const outcome: readonly Column[] = [
  integer('repeat', 'repeat'),
  { name: 'status', write: (row) => row.status, read: (field) => ({ status: field.oneOf(rowStatuses) }) },
  { name: 'message', write: (row) => quoted(row.message), read: (field) => ({ message: field.text }) },
  seconds('cool_down_s', 'coolDownMs'),
  seconds('settle_s', 'settleMs'),
]
export const powerError: Column = decimal('power_se_pct', 'powerErrorPercent', 3)
export const energy: Column = nullable('energy_j', 'energyJ', 3)
export const temperature: Column = nullable('temperature_c', 'temperatureC', 1)
export const startedAt: Column = {
  name: 'started_at',
  write: (row) => row.startedAt,
  read: (field) => ({ startedAt: field.text }),
}
export const boardProcesses: Column = {
  name: 'board_processes',
  write: (row) => quoted(row.boardProcesses),
  read: ({ found = '' }) => ({ boardProcesses: found }),
}
