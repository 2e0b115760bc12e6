import { createHash } from 'node:crypto'
import { closeSync, fsyncSync, ftruncateSync, readFileSync, writeFileSync } from 'node:fs'
import { openToWrite } from '@pctodl/command-line'
import { InvalidInputError, PctodlError } from '@pctodl/platform'
import { z } from 'zod'
import type { ScheduleAction } from '../engine/actions.js'
import type { EngineEvent } from '../engine/engine-event.js'

const FORMAT = 'pctodl-schedule-journal'
const VERSION = 1

/** One plan of the engine: its events, the executor's observations behind them, and its actions. */
export interface JournalEntry {
  readonly timeS: number
  readonly events: readonly EngineEvent[]
  /** Observations the executor needs to resume, in its own format. */
  readonly facts: readonly unknown[]
  readonly actions: readonly ScheduleAction[]
}

const header = z.object({
  format: z.literal(FORMAT),
  version: z.literal(VERSION),
  schedule: z.string(),
  startedUnixMs: z.number(),
})
const entryShape = z.object({
  timeS: z.number(),
  events: z.array(z.looseObject({ type: z.string() })),
  facts: z.array(z.unknown()),
  actions: z.array(z.looseObject({ type: z.string() })),
})

/**
 * Journal of a schedule: one plan per JSON line, appended and synced before the plan is carried out. Replaying it
 * restores the engine's state. The caller must hold the folder's lock.
 */
export class ScheduleJournal {
  readonly startedUnixMs: number
  /** Entries of earlier processes. */
  readonly entries: readonly JournalEntry[]
  readonly #file: string
  readonly #descriptor: number
  #bytes: number

  /**
   * @param schedule everything that determines the engine's decisions: a journal of another schedule is rejected
   * @throws InvalidInputError for a journal of another schedule; PctodlError `JOURNAL` if it is unreadable, a symlink,
   * or another user's file
   */
  constructor(file: string, schedule: unknown, nowUnixMs: number) {
    this.#file = file
    const digest = createHash('sha256').update(JSON.stringify(schedule)).digest('hex')
    try {
      this.#descriptor = openToWrite(file, { existing: 'append', mode: 0o600 })
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause)
      throw new PctodlError('JOURNAL', `${file}: ${why}; take a new work folder`, { cause })
    }
    try {
      const text = readFileSync(this.#descriptor, 'utf8')
      // A killed process may have left half a line; that plan was not carried out.
      const whole = text.slice(0, text.lastIndexOf('\n') + 1)
      const [first, ...lines] = whole.split('\n').slice(0, -1)
      const opened = first === undefined ? undefined : parsed(header, first, file, 1)
      if (opened !== undefined && opened.schedule !== digest) {
        throw new InvalidInputError(
          file,
          'the journal of another schedule',
          'the same jobs, cluster, models and rules as before, or a new work folder',
        )
      }
      this.startedUnixMs = opened?.startedUnixMs ?? nowUnixMs
      this.entries = lines.map((line, i) => parsed(entryShape, line, file, i + 2) as unknown as JournalEntry)
      this.#bytes = Buffer.byteLength(whole)
      ftruncateSync(this.#descriptor, this.#bytes)
      if (opened === undefined) {
        this.#write({ format: FORMAT, version: VERSION, schedule: digest, startedUnixMs: nowUnixMs })
      }
    } catch (error) {
      this.close()
      throw error
    }
  }

  /** @throws PctodlError `JOURNAL` if the write fails: nothing of the entry is kept then */
  append(entry: JournalEntry): void {
    this.#write(entry)
  }

  close(): void {
    closeSync(this.#descriptor)
  }

  /** A line is written completely or, on a full disk, not at all. */
  #write(line: object): void {
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`)
    try {
      writeFileSync(this.#descriptor, bytes)
      fsyncSync(this.#descriptor)
    } catch (cause) {
      ftruncateSync(this.#descriptor, this.#bytes)
      const why = cause instanceof Error ? cause.message : String(cause)
      throw new PctodlError('JOURNAL', `${this.#file}: ${why}; make it writable and call again`, { cause })
    }
    this.#bytes += bytes.length
  }
}

function parsed<T>(shape: z.ZodType<T>, line: string, file: string, row: number): T {
  try {
    return shape.parse(JSON.parse(line))
  } catch (cause) {
    throw new PctodlError(
      'JOURNAL',
      `${file}: line ${row} is not a journal line of version ${VERSION}; use a new work folder`,
      { cause },
    )
  }
}
