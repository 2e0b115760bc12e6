import { checked } from '@pctodl/command-line'
import { InvalidInputError } from '@pctodl/platform'
import { z } from 'zod'
import type { JudgedEvent } from './judged-event.js'

const measured = z.number().nullable()
const event = <T extends string, S extends z.ZodRawShape>(type: T, shape: S) =>
  z.object({ timeMs: z.number().nonnegative(), type: z.literal(type), ...shape })

const tenantWindow = z.object({
  tenant: z.object({ model: z.string(), mpsPercent: z.number(), batchSize: z.number() }),
})

const judgedEventSchema: z.ZodType<JudgedEvent> = z.discriminatedUnion('type', [
  event('run-start', {
    version: z.literal(1),
    board: z.string(),
    policy: z.string(),
    startedAt: z.iso.datetime(),
    caps: z
      .array(z.object({ atMs: z.number(), powerCapW: z.number() }))
      .min(1)
      .readonly()
      .optional(),
    windowMs: z.number().positive().optional(),
    about: z.record(z.string(), z.unknown()).optional(),
  }),
  event('sample', {
    powerCapW: z.number().positive(),
    telemetry: z.object({ powerAverageW: measured, smClockMhz: measured.optional() }),
    completed: z.number().nonnegative(),
    reconfiguring: z.boolean().optional(),
  }),
  event('window', {
    window: z.object({
      iteration: z.number().int().positive(),
      startMs: z.number().nonnegative(),
      endMs: z.number().positive(),
      powerCapW: z.number().positive(),
      powerAverageW: measured,
      powerMaxW: measured,
      smClockMhz: measured,
      memClockMhz: measured,
      smUtilPercent: measured,
      memUtilPercent: measured,
      throughput: z.number().nonnegative(),
      samples: z.number().nonnegative(),
      tenants: z.array(tenantWindow).readonly(),
      applied: z.object({ smClockMhz: measured, memClockMhz: measured }),
      reconfigured: z.boolean(),
    }),
  }),
  event('tenant', { state: z.string(), failure: z.string().optional() }),
  event('run-end', { outcome: z.string(), message: z.string().optional() }),
  z.object({
    timeMs: z.number().nonnegative(),
    type: z.enum(['cap', 'action', 'decision', 'refused', 'granted', 'services']),
  }),
])

/**
 * Parses the log of a run: one JSON object per line. An incomplete last line, as a killed run leaves it, is ignored.
 *
 * @param file name for error messages
 * @throws InvalidInputError with file, line and field
 */
export function parseRunEvents(text: string, file: string): JudgedEvent[] {
  return parseEventLines(text, file, judgedEventSchema)
}

/**
 * Parses the events of a log by another schema.
 *
 * @param schema fields that an event must have
 * @returns the events as they are in the log, including fields that the schema does not name
 */
export function parseEventLines<Event>(text: string, file: string, schema: z.ZodType<unknown>): Event[] {
  const lines = text.split('\n')
  lines.pop()
  return lines.map((line, i) => {
    const place = `${file}, line ${i + 1}`
    let json: unknown
    try {
      json = JSON.parse(line)
    } catch (error) {
      throw new InvalidInputError(place, line.slice(0, 60), 'an event of a run as JSON', { cause: error })
    }
    return checked<Event>(schema, json, place, 'an event of a run')
  })
}
