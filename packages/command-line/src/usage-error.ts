import { PctodlError } from '@pctodl/platform'

/** The call is invalid. `exitCode` 0 marks help and version, which are already printed. */
export class UsageError extends PctodlError {
  readonly exitCode: number

  constructor(message: string, exitCode = 2) {
    super('USAGE', message)
    this.exitCode = exitCode
  }
}
