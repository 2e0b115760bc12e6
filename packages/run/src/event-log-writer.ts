import { closeSync, writeSync } from 'node:fs'
import { openLog } from '@pctodl/command-line'
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
  readonly #descriptor: number
  readonly #pending: string[] = []
  #length = 0

  /** @throws PctodlError `CANNOT_WRITE` */
  constructor(file: string) {
    this.#descriptor = openLog(file, 'empty')
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
