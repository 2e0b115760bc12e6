import { closeSync, writeFileSync } from 'node:fs'
import { cannotWrite, openLog } from '@pctodl/command-line'
import type { RunEvent } from '@pctodl/scheduler'

/** Path of the event log that belongs to a log file. */
export function eventLogOf(logFile: string): string {
  return `${logFile.replace(/\.csv$/, '')}.events.jsonl`
}

/**
 * Samples are written in chunks of this many characters. Any other event is written immediately, with the samples
 * before it.
 */
const LOT = 1 << 16

/**
 * Writes the record of a run while it runs, one line per event. If the run is killed, all written lines are complete.
 */
export class EventLogWriter {
  readonly #file: string
  readonly #descriptor: number
  readonly #pending: string[] = []
  #length = 0

  /** @throws PctodlError `CANNOT_WRITE` */
  constructor(file: string) {
    this.#file = file
    this.#descriptor = openLog(file, 'empty')
  }

  /** @throws PctodlError `CANNOT_WRITE`, for example if the disk is full */
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
    const text = this.#pending.splice(0).join('')
    this.#length = 0
    try {
      // Unlike `writeSync`, this never writes only a part without an error.
      writeFileSync(this.#descriptor, text)
    } catch (error) {
      throw cannotWrite(this.#file, error)
    }
  }
}
