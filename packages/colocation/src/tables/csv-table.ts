import { PctodlError } from '@pctodl/platform'
import { CsvError, type Options, parse } from 'csv-parse/sync'
import { MAX_VALUE } from '../input-checks.js'

/** A table or log that cannot be read. The message names file, line and column, and what was found and expected. */
export class TableError extends PctodlError {
  constructor(
    readonly file: string,
    /** Line of the file, from 1; undefined if the error concerns the whole file. */
    readonly line: number | undefined,
    readonly column: string | undefined,
    problem: string,
    cause?: unknown,
  ) {
    const place = [file, line === undefined ? '' : `line ${line}`, column === undefined ? '' : `column '${column}'`]
    super('BAD_TABLE', `${place.filter((part) => part !== '').join(', ')}: ${problem}`, { cause })
  }
}

/** One row of a CSV file with a header. Its methods return a value or throw an error with file, line and column. */
export class CsvRow {
  readonly #cells: Readonly<Record<string, string>>
  readonly #file: string

  constructor(
    cells: Readonly<Record<string, string>>,
    file: string,
    /** Line of the file where the row ends, from 1. */
    readonly line: number,
  ) {
    this.#cells = cells
    this.#file = file
  }

  text(column: string): string {
    const value = this.optionalText(column)
    if (value === undefined) throw this.error(column, 'blank, expected a value')
    return value
  }

  /** Text of a cell, or undefined if it is blank or absent. */
  optionalText(column: string): string | undefined {
    return this.#cells[column] || undefined
  }

  number(column: string, isValid: (value: number) => boolean = () => true, range = ''): number {
    const text = this.text(column)
    const value = Number(text)
    // Number() also takes 0x10.
    if (!(Math.abs(value) <= MAX_VALUE) || /^0[a-z]/i.test(text))
      throw this.error(column, `got '${text}', expected a number up to 1e15`)
    if (!isValid(value)) throw this.error(column, `got ${value}, expected a number ${range}`)
    return value
  }

  positive(column: string): number {
    return this.number(column, (value) => value > 0, 'above 0')
  }

  notNegative(column: string): number {
    return this.number(column, (value) => value >= 0, 'of at least 0')
  }

  error(column: string, problem: string): TableError {
    return new TableError(this.#file, this.line, column, problem)
  }
}

/**
 * Parses a CSV text with an optional byte order mark.
 *
 * @throws TableError
 */
export function parseRecords<T>(
  text: string,
  file: string,
  options: Options,
): { record: T; info: { lines: number } }[] {
  try {
    return parse(text, { bom: true, info: true, ...options }) as never
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    const { lines } = error as { lines?: unknown }
    throw new TableError(file, typeof lines === 'number' ? lines : undefined, undefined, error.message, error)
  }
}

/** @throws TableError for the first missing column */
export function assertColumns(
  columns: readonly string[],
  needed: readonly string[],
  file: string,
  line?: number,
): void {
  const missing = needed.find((column) => !columns.includes(column))
  if (missing === undefined) return
  throw new TableError(file, line, missing, `missing; the columns are ${columns.join(', ')}`)
}

export interface CsvTable {
  readonly columns: readonly string[]
  readonly rows: readonly CsvRow[]
}

/**
 * Parse a CSV file with a header, quotes and an optional byte order mark.
 *
 * @param file name for messages
 * @param needed required columns
 * @throws TableError
 */
export function parseCsvTable(text: string, file: string, needed: readonly string[] = []): CsvTable {
  let columns: string[] = []
  const records = parseRecords<Record<string, string>>(text, file, {
    columns: (header: string[]) => (columns = header),
    skip_empty_lines: true,
    trim: true,
  })
  if (records.length === 0) throw new TableError(file, undefined, undefined, 'no rows, expected a header and rows')
  const twice = columns.find((column, i) => columns.indexOf(column) !== i)
  if (twice !== undefined) throw new TableError(file, 1, twice, 'two columns of this name; remove one')
  assertColumns(columns, needed, file, 1)
  return { columns, rows: records.map(({ record, info }) => new CsvRow(record, file, info.lines)) }
}

/** Writes rows of cells, quoted where necessary. */
export function formatCsv(rows: readonly (readonly (string | number)[])[]): string {
  const quoted = (text: string) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
  return rows.map((row) => `${row.map((cell) => quoted(String(cell))).join(',')}\n`).join('')
}
