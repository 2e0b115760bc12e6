import { PctodlError } from '@pctodl/platform'

/** A table or log that cannot be read: says which file, which line and column, what was found and what was expected. */
export class TableError extends PctodlError {
  readonly file: string
  /** Line of the file, from 1; undefined where the whole file is meant. */
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
