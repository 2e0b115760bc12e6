import { PctodlError } from '@pctodl/platform'
import { parse } from 'csv-parse/sync'

/** Thrown for an invalid cell, row or column of an input file. */
export class SegmentFileError extends PctodlError {
  constructor(
    readonly file: string,
    /** Line of the file, from 1. */
    readonly row: number,
    /** Name of the column, or its number from 1. */
    readonly column: string | number | null,
    found: string,
    expected: string,
  ) {
    const place = column === null ? `row ${row}` : `row ${row}, column ${column}`
    super('SEGMENT_FILE', `${file}, ${place}: got ${found}, expected ${expected}`)
  }
}

/** One row of a CSV file. Its methods return a value, or throw an error that names file, row and column. */
export class CsvRow {
  readonly #columns: readonly string[]

  constructor(
    readonly file: string,
    /** Number of the line in the file, from 1. */
    readonly row: number,
    readonly cells: readonly string[],
    columns: readonly string[],
  ) {
    this.#columns = columns
  }

  /** Returns the same row with names for its columns. `expected` says where their number comes from. */
  named(columns: readonly string[], expected = `${columns.length}`): CsvRow {
    if (this.cells.length !== columns.length) throw this.error(null, expected, `${this.cells.length} cells`)
    return new CsvRow(this.file, this.row, this.cells, columns)
  }

  /** @param at the column, from 0; null for the whole row */
  error(at: number | null, expected: string, found: string = quoted(this.cells[at!]!)): SegmentFileError {
    return new SegmentFileError(this.file, this.row, at === null ? null : this.#columns[at]!, found, expected)
  }

  /** Text of a cell, which must be one line. A second line would become a command in the output of a dry run. */
  text(at: number, expected: string): string {
    if (!/^.+$/.test(this.cells[at]!)) throw this.error(at, expected)
    return this.cells[at]!
  }

  number(at: number, expected: string, accept: (value: number) => boolean): number {
    const value = toNumber(this.cells[at]!)
    if (!accept(value)) throw this.error(at, expected)
    return value
  }

  integer(at: number, least: number, most: number = Number.MAX_SAFE_INTEGER): number {
    const expected = `an integer of at least ${least}${most < 1e9 ? ` and at most ${most}` : ''}`
    return this.number(at, expected, (value) => Number.isSafeInteger(value) && value >= least && value <= most)
  }
}

/** The non-empty rows of a CSV text, its header included. */
export function csvRows(text: string, file: string): CsvRow[] {
  const options = { bom: true, info: true, trim: true, relax_column_count: true, skip_empty_lines: true }
  try {
    const records = parse(text, options) as unknown as { record: string[]; info: { lines: number } }[]
    return records.map(({ record, info }) => new CsvRow(file, info.lines, record, []))
  } catch (error) {
    const { lines, message } = error as { lines?: number; message: string }
    throw new SegmentFileError(file, lines ?? 1, null, message, 'comma-separated values')
  }
}

/** A row of a CSV file. Cells that would not be read as they are, such as names with commas, are quoted. */
export function csvLine(cells: readonly (string | number)[]): string {
  const written = cells.map((cell) =>
    /[",\r\n]|^\s|\s$/.test(`${cell}`) ? `"${`${cell}`.replaceAll('"', '""')}"` : cell,
  )
  return written.join()
}

/** The rows below a header, which must be one of `headers`. */
export function csvTable(text: string, file: string, headers: readonly (readonly string[])[]): CsvRow[] {
  const [header, ...rows] = csvRows(text, file)
  const found = header?.cells.join()
  const columns = headers.find((each) => each.join() === found)
  if (columns) return rows.map((row) => row.named(columns))
  const expected = `the header ${headers.map((each) => each.join()).join(' or ')}`
  throw new SegmentFileError(file, 1, null, found === undefined ? 'an empty file' : quoted(found), expected)
}

/** Returns NaN for anything but a plain decimal number. `Number` would read blanks as 0 and accept `0x10`. */
export function toNumber(text: string): number {
  return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text) ? Number(text) : Number.NaN
}

export function quoted(text: string): string {
  return text === '' ? 'an empty cell' : `'${text}'`
}
