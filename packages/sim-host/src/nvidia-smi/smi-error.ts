import { PctodlError } from '@pctodl/platform'

/** Ends the program with one of the exit codes that `nvidia-smi` documents, and its message on standard output. */
export class SmiError extends PctodlError {
  readonly exitCode: number

  constructor(exitCode: number, message: string) {
    super('NVIDIA_SMI', message)
    this.exitCode = exitCode
  }
}
