import { closeSync, existsSync, fsyncSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs'
import path from 'node:path'
import { PctodlError } from '@pctodl/platform'

/**
 * A file of lines that only grows. A line is there as a whole, once `append` has returned, even if the machine loses power;
 * what a killed writer left of a line is cut off when the file is opened the next time.
 */
export class AppendOnlyFile {
  readonly path: string
  /** Whole lines that were there when it was opened, the header included. */
  readonly before: string
  readonly #descriptor: number

  /**
   * @param header first line, written if the file has none
   * @throws PctodlError `CANNOT_WRITE` naming the file and the cause; `NOT_THIS_FILE` if it begins with another header
   */
  constructor(file: string, header: string) {
    this.path = file
    try {
      mkdirSync(path.dirname(file), { recursive: true })
      const found = existsSync(file) ? readFileSync(file) : Buffer.alloc(0)
      const whole = found.subarray(0, found.lastIndexOf(0x0a) + 1)
      this.#descriptor = openSync(file, existsSync(file) ? 'r+' : 'w')
      ftruncateSync(this.#descriptor, whole.length)
      this.before = whole.toString('utf8')
    } catch (cause) {
      throw cannotWrite(file, cause)
    }
    const first = this.before.split('\n', 1)[0]!
    if (this.before === '') this.#write(`${header}\n`, 0)
    else if (first !== header) {
      closeSync(this.#descriptor)
      throw new PctodlError(
        'NOT_THIS_FILE',
        `${file} begins with other columns than this version writes; choose another file`,
      )
    }
    this.#end = Buffer.byteLength(this.before === '' ? `${header}\n` : this.before)
  }

  #end: number

  append(line: string): void {
    this.#end += this.#write(`${line}\n`, this.#end)
  }

  close(): void {
    closeSync(this.#descriptor)
  }

  #write(text: string, position: number): number {
    const bytes = Buffer.from(text)
    try {
      for (let done = 0; done < bytes.length; ) {
        done += writeSync(this.#descriptor, bytes, done, bytes.length - done, position + done)
      }
      fsyncSync(this.#descriptor)
    } catch (cause) {
      throw cannotWrite(this.path, cause)
    }
    return bytes.length
  }
}

function cannotWrite(file: string, cause: unknown): PctodlError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new PctodlError('CANNOT_WRITE', `cannot write ${file}: ${reason}; choose a place that can be written`, {
    cause,
  })
}
