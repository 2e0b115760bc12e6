import { closeSync, mkdirSync, writeSync } from 'node:fs'
import path from 'node:path'
import { openToWrite } from '@pctodl/command-line'
import { PctodlError } from '@pctodl/platform'
import type { RunEvent } from '@pctodl/scheduler'

/** Path of the event log beside a log file. */
export function eventLogOf(logFile: string): string {
  return `${logFile.replace(/\.csv$/, '')}.events.jsonl`
}

/** Samples are written in chunks of this many characters, all other events at once. */
const LOT = 1 << 16

/** Writes the record of a run, one line per event, as it happens. A killed run leaves whole lines. */
export class EventLogWriter {
  readonly #descriptor: number
  readonly #pending: string[] = []
  #length = 0

  /** @throws PctodlError `CANNOT_WRITE` */
  constructor(file: string) {
    try {
      mkdirSync(path.dirname(path.resolve(file)), { recursive: true })
      this.#descriptor = openToWrite(file, { existing: 'empty' })
    } catch (error) {
      const { message } = error as Error
      throw new PctodlError('CANNOT_WRITE', `cannot write ${file}: ${message}; choose a place that can be written`, {
        cause: error,
      })
    }
  }

  add(event: RunEvent): void {
    const line = `${JSON.stringify(event)}\n`
    this.#pending.push(line)
    this.#length += line.length
    if (this.#length > LOT || event.type !== 'sample') this.#flush()
  }

  close(): void {
    this.#flush()
    closeSync(this.#descriptor)
  }

  #flush(): void {
    if (this.#pending.length > 0) writeSync(this.#descriptor, this.#pending.splice(0).join(''))
    this.#length = 0
  }
}
