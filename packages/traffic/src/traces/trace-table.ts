import { PctodlError, reasonOf } from '@pctodl/platform'
import { parse } from 'csv-parse/sync'

/** Thrown for invalid content of a trace file. `row` counts the rows of requests from 1; row 0 is the header. */
export class RequestTraceError extends PctodlError {
  constructor(
    readonly row: number,
    readonly column: string,
    found: string,
    expected: string,
    options?: ErrorOptions,
  ) {
    const where = row === 0 ? 'header' : `row ${row}`
    super('REQUEST_TRACE', `request trace, ${where}, column '${column}': got '${found}', expected ${expected}`, options)
  }
}

/** A CSV file with a header, read by column. */
export class TraceTable {
  readonly #header: readonly string[]
  readonly #records: readonly (readonly string[])[]

  /**
   * Reads a CSV file.
   * @throws RequestTraceError for invalid CSV, or a file without rows
   */
  constructor(text: string) {
    let records: string[][]
    try {
      records = parse(text, { bom: true, trim: true, skip_empty_lines: true, relax_column_count: true })
    } catch (cause) {
      const reason = reasonOf(cause)
      throw new RequestTraceError(0, '*', reason, 'comma-separated values', { cause })
    }
    this.#header = records[0] ?? []
    this.#records = records.slice(1)
    if (this.#records.length === 0) throw new RequestTraceError(1, '*', '', 'at least one row below the header')
  }

  get rows(): number {
    return this.#records.length
  }

  has(column: string): boolean {
    return this.#header.includes(column)
  }

  /**
   * Returns a function that gives the text of a column in a row.
   * @throws RequestTraceError for a missing column
   */
  text(column: string): (row: number) => string {
    const index = this.#header.indexOf(column)
    if (index < 0) throw new RequestTraceError(0, column, this.#header.slice(0, 8).join(','), 'this column')
    return (row) => this.#records[row]![index] ?? ''
  }

  /**
   * Returns a whole column as numbers.
   *
   * @param read returns NaN for invalid text
   * @throws RequestTraceError naming the row
   */
  numbers(column: string, expected: string, read: (text: string) => number = toNumber): Float64Array {
    const text = this.text(column)
    const values = new Float64Array(this.rows)
    for (let i = 0; i < values.length; i++) {
      values[i] = read(text(i))
      if (!Number.isFinite(values[i]!)) throw new RequestTraceError(i + 1, column, text(i), expected)
    }
    return values
  }
}

function toNumber(text: string): number {
  return text === '' ? Number.NaN : Number(text)
}
