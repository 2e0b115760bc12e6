import { closeSync, fsyncSync, ftruncateSync, mkdirSync, readFileSync, writeSync } from 'node:fs'
import path from 'node:path'
import { openToWrite } from '@pctodl/command-line'
import { PctodlError } from '@pctodl/platform'

/**
 * A file of lines that only grows. A line is there as a whole, once `append` has returned, even if the machine loses power;
 * what a killed writer left of a line is cut off when the file is opened the next time. A file with another header is left as it is.
 */
export class AppendOnlyFile {
  readonly path: string
  /** Whole lines that were there when it was opened, the header included. */
  readonly before: string
  readonly #descriptor: number

  /**
   * @param header first line, written if the file has none
   * @throws PctodlError `CANNOT_WRITE` naming the file and the cause, as a link in the file's place; `NOT_THIS_FILE` if it begins
   *   with another header
   */
  constructor(file: string, header: string) {
    this.path = file
    let found: Buffer
    try {
      mkdirSync(path.dirname(file), { recursive: true })
      this.#descriptor = openToWrite(file, { existing: 'append' })
      found = readFileSync(this.#descriptor)
    } catch (cause) {
      throw cannotWrite(file, cause)
    }
    const whole = found.subarray(0, found.lastIndexOf(0x0a) + 1)
    this.before = whole.toString('utf8')
    // Half a header is of a writer that was killed at once; anything else without an end of a line is no file of ours.
    const isOurs =
      whole.length === 0 ? header.startsWith(found.toString('utf8')) : this.before.split('\n', 1)[0] === header
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
    this.#write(`${line}\n`)
  }

  close(): void {
    closeSync(this.#descriptor)
  }

  #write(text: string): void {
    const bytes = Buffer.from(text)
    try {
      for (let done = 0; done < bytes.length; ) {
        done += writeSync(this.#descriptor, bytes, done, bytes.length - done)
      }
      fsyncSync(this.#descriptor)
    } catch (cause) {
      throw cannotWrite(this.path, cause)
    }
  }
}

function cannotWrite(file: string, cause: unknown): PctodlError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new PctodlError('CANNOT_WRITE', `cannot write ${file}: ${reason}; choose a place that can be written`, {
    cause,
  })
}
