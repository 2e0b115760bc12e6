import { PctodlError } from '@pctodl/platform'

/** Ends `nvidia-smi` with one of its documented exit codes, and prints the message on standard output. */
export class SmiError extends PctodlError {
  readonly exitCode: number

  constructor(exitCode: number, message: string) {
    super('NVIDIA_SMI', message)
    this.exitCode = exitCode
  }
}
