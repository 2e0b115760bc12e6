import { closeSync, fstatSync, fsyncSync, ftruncateSync, readFileSync, writeFileSync } from 'node:fs'
import { openToWrite } from '@pctodl/command-line'

/** An append-only file of JSON lines that outlives its process. */
export class JsonLines {
  /** The lines found at opening. A last line that a killed process left unfinished is cut off. */
  readonly lines: readonly string[]
  readonly #use: <T>(use: (fd: number) => T) => T
  #size = 0

  /**
   * Opens the file, or creates it.
   *
   * @param mode permissions of a new file
   * @param failure makes the error that is thrown if the file cannot be written, is a link, or belongs to another user
   */
  constructor(file: string, mode: number, failure: (cause: Error) => Error) {
    this.#use = (use) => {
      try {
        const fd = openToWrite(file, { existing: 'append', mode })
        try {
          return use(fd)
        } finally {
          closeSync(fd)
        }
      } catch (cause) {
        throw failure(cause as Error)
      }
    }
    this.lines = this.#use((fd) => {
      const text = readFileSync(fd, 'utf8')
      const whole = text.slice(0, text.lastIndexOf('\n') + 1)
      this.#size = Buffer.byteLength(whole)
      if (whole !== text) ftruncateSync(fd, this.#size)
      return whole.split('\n').slice(0, -1)
    })
  }

  /**
   * Appends a line and syncs it to the disk. On a full disk, nothing of the line is kept.
   *
   * @throws the failure also if another program has changed the file
   */
  append(value: object): void {
    const line = `${JSON.stringify(value)}\n`
    this.#use((fd) => {
      if (fstatSync(fd).size !== this.#size) throw new Error('another program has changed it')
      try {
        writeFileSync(fd, line)
        fsyncSync(fd)
      } catch (error) {
        ftruncateSync(fd, this.#size)
        throw error
      }
      this.#size += Buffer.byteLength(line)
    })
  }
}
