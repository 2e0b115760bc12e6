import { PctodlError } from '@pctodl/platform'

/** Ends `nvidia-smi` with one of its documented exit codes, and prints the message on standard output. */
export class SmiError extends PctodlError {
  readonly exitCode: number

  constructor(exitCode: number, message: string) {
    super('NVIDIA_SMI', message)
    this.exitCode = exitCode
  }
}

export function missingValue(written: string): SmiError {
  return new SmiError(2, `Option "${written}" is missing its value.\n`)
}

/** Splits a word of the command line. `attached` is the value after `=`; `option` is the short form, if there is one. */
export function optionOf(
  word: string,
  longOptions: Readonly<Record<string, string>>,
): { readonly written: string; readonly option: string; readonly attached: string | undefined } {
  const [, written = word, attached] = /^(--[^=]*)=(.*)$/s.exec(word) ?? []
  return { written, option: longOptions[written] ?? written, attached }
}
