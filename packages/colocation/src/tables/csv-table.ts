import { PctodlError } from '@pctodl/platform'
import { CsvError, parse } from 'csv-parse/sync'

/** A table or log that cannot be read. The message names file, line and column, and what was found and expected. */
export class TableError extends PctodlError {
  readonly file: string
  /** Line of the file, from 1; undefined if the error concerns the whole file. */
  readonly line: number | undefined
  readonly column: string | undefined

  constructor(file: string, line: number | undefined, column: string | undefined, problem: string, cause?: unknown) {
    const place = [file, line === undefined ? '' : `line ${line}`, column === undefined ? '' : `column '${column}'`]
    super('BAD_TABLE', `${place.filter((part) => part !== '').join(', ')}: ${problem}`, { cause })
    this.file = file
    this.line = line
    this.column = column
  }
}

/**
 * One row of a CSV file with a header. Its methods return a value or throw an error that names file, line and column.
 */
export class CsvRow {
  readonly #cells: Readonly<Record<string, string>>
  readonly #file: string
  /** Line of the file where the row ends, from 1. */
  readonly line: number

  constructor(cells: Readonly<Record<string, string>>, file: string, line: number) {
    this.#cells = cells
    this.#file = file
    this.line = line
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

  number(column: string): number {
    const text = this.text(column)
    const value = Number(text)
    // Number() also takes 0x10.
    if (!Number.isFinite(value) || /^0[a-z]/i.test(text)) throw this.error(column, `got '${text}', expected a number`)
    return value
  }

  positive(column: string): number {
    const value = this.number(column)
    if (!(value > 0)) throw this.error(column, `got ${value}, expected a number above 0`)
    return value
  }

  notNegative(column: string): number {
    const value = this.number(column)
    if (value < 0) throw this.error(column, `got ${value}, expected a number of at least 0`)
    return value
  }

  error(column: string, problem: string): TableError {
    return new TableError(this.#file, this.line, column, problem)
  }
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
 * @param options.shortRows accept short rows; their missing cells are blank
 * @throws TableError
 */
export function parseCsvTable(
  text: string,
  file: string,
  needed: readonly string[] = [],
  { shortRows = false }: { readonly shortRows?: boolean } = {},
): CsvTable {
  let records: { record: Record<string, string>; info: { lines: number } }[]
  let columns: string[] = []
  try {
    records = parse(text, {
      columns: (header: string[]) => (columns = header),
      bom: true,
      info: true,
      skip_empty_lines: true,
      trim: true,
      relax_column_count_less: shortRows,
    }) as never
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    const { lines } = error as { lines?: unknown }
    throw new TableError(file, typeof lines === 'number' ? lines : undefined, undefined, error.message, error)
  }
  if (records.length === 0) throw new TableError(file, undefined, undefined, 'no rows, expected a header and rows')
  const twice = columns.find((column, i) => columns.indexOf(column) !== i)
  if (twice !== undefined) throw new TableError(file, 1, twice, 'two columns of this name; remove one')
  for (const column of needed) {
    if (!columns.includes(column)) {
      throw new TableError(file, 1, column, `missing; the columns are ${columns.join(', ')}`)
    }
  }
  return { columns, rows: records.map(({ record, info }) => new CsvRow(record, file, info.lines)) }
}

/** Writes rows of cells, quoted where necessary. */
export function formatCsv(rows: readonly (readonly (string | number)[])[]): string {
  const quoted = (text: string) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
  return rows.map((row) => `${row.map((cell) => quoted(String(cell))).join(',')}\n`).join('')
}
