import { closeSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs'
import path from 'node:path'
import { InvalidInputError, PctodlError } from '@pctodl/platform'
import type { RunEvent } from '@pctodl/scheduler'
import { z } from 'zod'
import { type Experiment, experimentSchema } from './experiment.js'

/** Where the record of a run goes that logs to a file. */
export function recordFileOf(logFile: string): string {
  return `${logFile.replace(/\.csv$/, '')}.events.jsonl`
}

/** Samples are written in lots of this many characters, everything else at once. */
const LOT = 1 << 16

/** The record of a run, a line for each event, on disk as it happens: what a run that is killed leaves behind is whole lines. */
export class RecordFile {
  readonly #descriptor: number
  readonly #pending: string[] = []
  #length = 0

  /** @throws PctodlError `CANNOT_WRITE` */
  constructor(file: string) {
    try {
      mkdirSync(path.dirname(path.resolve(file)), { recursive: true })
      this.#descriptor = openSync(file, 'w')
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

export interface RunRecordFile {
  readonly experiment: Experiment
  readonly events: readonly RunEvent[]
}

const watts = z.number().nullable()
const state = z.looseObject({ smClockMhz: watts, memClockMhz: watts, powerLimitW: z.number() })
const telemetry = z.looseObject({ powerAverageW: watts, powerInstantW: watts, smClockMhz: watts })
const tenants = z.array(z.looseObject({ mpsPercent: z.number(), batchSize: z.number() }))
const decision = z.looseObject({ kind: z.string(), reason: z.string() })
const setter = z.enum(['powerLimitW', 'memClockMhz', 'smClockMhz'])
const event = <T extends string>(type: T, shape: z.ZodRawShape) =>
  z.looseObject({ timeMs: z.number(), type: z.literal(type), ...shape })

/** What a replay reads of an event; the rest passes as it is. */
const eventSchema = z.discriminatedUnion('type', [
  event('run-start', {
    version: z.literal(1),
    caps: z.array(z.object({ atMs: z.number(), powerCapW: z.number() })).min(1),
    powerLimitW: z.number(),
  }),
  event('sample', {
    telemetry,
    powerCapW: z.number(),
    reconfiguring: z.boolean(),
    smClockRefusedMs: z.number(),
    failures: z.array(z.looseObject({ failure: z.string() })),
    inForce: state,
  }),
  event('window', { window: z.looseObject({ powerCapW: z.number(), tenants: z.array(z.unknown()), applied: state }) }),
  event('cap', { powerCapW: z.number() }),
  event('action', { source: z.string(), action: z.looseObject({ tenants: tenants.optional() }) }),
  event('decision', { source: z.string(), decision }),
  event('refused', { setter, message: z.string() }),
  event('granted', { setter, value: watts }),
  event('tenant', { state: z.string() }),
  event('run-end', { outcome: z.string() }),
])

/**
 * Read a record that `pctodl-run` has written. A last line that is not whole, of a run that was killed, is left out.
 *
 * @throws InvalidInputError naming file and line
 */
export function readRecord(file: string): RunRecordFile {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new InvalidInputError('--replay', file, 'the record of a run, a file that can be read', { cause: error })
  }
  const lines = text.split('\n')
  lines.pop()
  const events = lines.map((line, i) => parsed(`${file}, line ${i + 1}`, line))
  const [first] = events
  if (first?.type !== 'run-start') {
    throw new InvalidInputError(`${file}, line 1`, first?.type, "a record of pctodl-run, which begins with 'run-start'")
  }
  const experiment = experimentSchema.safeParse(first.about?.['experiment'])
  if (experiment.success) return { experiment: experiment.data, events }
  const { path: where, message } = experiment.error.issues[0]!
  throw new InvalidInputError(
    `${file}, line 1: ${['about.experiment', ...where].join('.')}`,
    undefined,
    `what pctodl-run writes there (${message})`,
  )
}

function parsed(place: string, line: string): RunEvent {
  let json: unknown
  try {
    json = JSON.parse(line)
  } catch (error) {
    throw new InvalidInputError(place, line.slice(0, 60), 'an event of a run as JSON', { cause: error })
  }
  const result = eventSchema.safeParse(json)
  if (result.success) return json as RunEvent
  const { path: where, message } = result.error.issues[0]!
  throw new InvalidInputError(`${place}: ${where.join('.')}`, line.slice(0, 60), `an event of a run (${message})`)
}
