import { PctodlError } from '@pctodl/platform'

/** Ends the program with an exit code documented for `nvidia-smi`, and its message on standard output. */
export class SmiError extends PctodlError {
  readonly exitCode: number

  constructor(exitCode: number, message: string) {
    super('NVIDIA_SMI', message)
    this.exitCode = exitCode
  }
}
