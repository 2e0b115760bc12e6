import { PctodlError } from '@pctodl/platform'

/** Thrown if the call is invalid. `exitCode` is 0 for help and version, whose text has already been printed. */
export class UsageError extends PctodlError {
  readonly exitCode: number

  constructor(message: string, exitCode = 2) {
    super('USAGE', message)
    this.exitCode = exitCode
  }
}
