import { PctodlError } from '@pctodl/platform'

/** A file of parameters cannot be read, or does not hold what it should. */
export class ParameterFileError extends PctodlError {
  readonly file: string

  constructor(file: string, problem: string, options?: ErrorOptions) {
    super('PARAMETER_FILE', `${file}: ${problem}`, options)
    this.file = file
  }
}
