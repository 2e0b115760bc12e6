import { closeSync, fsyncSync, ftruncateSync, readFileSync, writeSync } from 'node:fs'
import { cannotWrite, openLog } from '@pctodl/command-line'
import { PctodlError } from '@pctodl/platform'

/**
 * A file of lines that is only appended to. Once `append` returns, the line is on disk even if the machine loses power.
 * If a killed writer left a partial line, opening the file removes that line. A file with another header is left
 * unchanged.
 */
export class AppendOnlyFile {
  readonly path: string
  readonly #descriptor: number

  /**
   * @param header first line, written if the file is new
   * @throws PctodlError `CANNOT_WRITE` naming the file and the cause, for example a link in its place; `NOT_THIS_FILE`
   *   if the file begins with another header
   */
  constructor(file: string, header: string) {
    this.path = file
    this.#descriptor = openLog(file, 'append')
    const found = readFileSync(this.#descriptor)
    const whole = found.subarray(0, found.lastIndexOf(0x0a) + 1)
    // A file that contains only part of the header was left by a writer killed at its start. Any other file without a
    // complete header is not ours.
    const isOurs =
      whole.length === 0 ? header.startsWith(found.toString('utf8')) : whole.toString('utf8').startsWith(`${header}\n`)
    if (!isOurs) {
      closeSync(this.#descriptor)
      throw new PctodlError(
        'NOT_THIS_FILE',
        `${file} begins with other columns than this version writes; choose another file`,
      )
    }
    try {
      ftruncateSync(this.#descriptor, whole.length)
    } catch (cause) {
      closeSync(this.#descriptor)
      throw cannotWrite(file, cause)
    }
    if (whole.length === 0) this.append(header)
  }

  append(line: string): void {
    const bytes = Buffer.from(`${line}\n`)
    try {
      for (let done = 0; done < bytes.length; ) {
        done += writeSync(this.#descriptor, bytes, done, bytes.length - done)
      }
      fsyncSync(this.#descriptor)
    } catch (cause) {
      throw cannotWrite(this.path, cause)
    }
  }

  close(): void {
    closeSync(this.#descriptor)
  }
}
