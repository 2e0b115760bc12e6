import { PctodlError } from '@pctodl/platform'

/** Thrown for an invalid cell, row or column of an input file. */
export class SegmentFileError extends PctodlError {
  readonly file: string
  /** Line of the file, from 1. */
  readonly row: number
  /** Name of the column, or its number from 1. */
  readonly column: string | number | null

  constructor(file: string, row: number, column: string | number | null, found: string, expected: string) {
    const place = column === null ? `row ${row}` : `row ${row}, column ${column}`
    super('SEGMENT_FILE', `${file}, ${place}: got ${found}, expected ${expected}`)
    this.file = file
    this.row = row
    this.column = column
  }
}
