import { parse } from 'csv-parse/sync'
import { SegmentFileError } from './segment-file-error.js'

/** One row of a CSV file. */
export interface CsvRow {
  /** Line of the file, from 1. */
  readonly row: number
  readonly cells: readonly string[]
}

/**
 * The non-empty rows of a CSV text.
 *
 * @throws SegmentFileError for unbalanced quotes
 */
export function csvRows(text: string, file: string): CsvRow[] {
  let records: { record: string[]; info: { lines: number } }[]
  try {
    records = parse(text, {
      bom: true,
      info: true,
      trim: true,
      relax_column_count: true,
      skip_empty_lines: true,
    }) as unknown as { record: string[]; info: { lines: number } }[]
  } catch (error) {
    const { lines, message } = error as { lines?: number; message: string }
    throw new SegmentFileError(file, lines ?? 1, null, message, 'comma-separated values')
  }
  return records.map(({ record, info }) => ({ row: info.lines, cells: record }))
}

/**
 * NaN for anything but a plain decimal number; `Number` alone would read blanks as 0 and accept `0x10` and `Infinity`.
 */
export function toNumber(text: string): number {
  return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text) ? Number(text) : Number.NaN
}

export function quoted(text: string): string {
  return text === '' ? 'an empty cell' : `'${text}'`
}
