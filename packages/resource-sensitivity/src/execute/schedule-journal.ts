import { createHash } from 'node:crypto'
import { InvalidInputError, PctodlError } from '@pctodl/platform'
import { z } from 'zod'
import type { EngineEvent, ScheduleAction } from '../engine/actions.js'
import { JsonLines } from './json-lines.js'

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
  readonly #file: JsonLines

  /** @param schedule everything that determines the engine's decisions: a journal of another schedule is rejected */
  constructor(file: string, schedule: unknown, nowUnixMs: number) {
    const digest = createHash('sha256').update(JSON.stringify(schedule)).digest('hex')
    this.#file = new JsonLines(file, 0o600, (cause) => {
      const why = `${cause.message}; make it writable and call again, or take a new work folder`
      return new PctodlError('JOURNAL', `${file}: ${why}`, { cause })
    })
    const [first, ...lines] = this.#file.lines
    const opened = first === undefined ? undefined : parsed(header, first, file, 1)
    if (opened !== undefined && opened.schedule !== digest) {
      const same = 'the same jobs, cluster, nodes, models and rules as before; the version that began the journal'
      throw new InvalidInputError(file, 'the journal of another schedule', `${same}; or a new work folder`)
    }
    if (opened === undefined) {
      this.#file.append({ format: FORMAT, version: VERSION, schedule: digest, startedUnixMs: nowUnixMs })
    }
    this.startedUnixMs = opened?.startedUnixMs ?? nowUnixMs
    this.entries = lines.map((line, i) => parsed(entryShape, line, file, i + 2) as unknown as JournalEntry)
  }

  /** @throws PctodlError `JOURNAL` if the write fails: nothing of the entry is kept then */
  append(entry: JournalEntry): void {
    this.#file.append(entry)
  }
}

function parsed<T>(shape: z.ZodType<T>, line: string, file: string, row: number): T {
  try {
    // JSON has no Infinity: a budget without a limit is null.
    return shape.parse(JSON.parse(line, (key, value) => (key === 'powerBudgetW' ? (value ?? Infinity) : value)))
  } catch (cause) {
    const why = `line ${row} is not a journal line of version ${VERSION}`
    throw new PctodlError('JOURNAL', `${file}: ${why}; use a new work folder`, { cause })
  }
}
