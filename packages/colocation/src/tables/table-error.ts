import { PctodlError } from '@pctodl/platform'

/** A table or log that cannot be read. The message names file, line and column, and what was found and expected. */
export class TableError extends PctodlError {
  readonly file: string
  /** Line of the file, from 1; undefined where the error concerns the whole file. */
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
