import { readFileSync } from 'node:fs'
import { InvalidInputError } from '@pctodl/platform'
import { parseEventLines } from '@pctodl/report'
import type { RunEvent } from '@pctodl/scheduler'
import { z } from 'zod'
import { type Experiment, experimentSchema } from './experiment.js'

/** A run as it is recorded in its log. */
export interface RecordedExperiment {
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

/** The fields of events that a replay reads. Other fields are kept but not checked. */
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
 * Reads a record that `pctodl run` wrote. An incomplete last line, as a killed run leaves it, is ignored.
 *
 * @throws InvalidInputError with file and line
 */
export function readRecordedExperiment(file: string): RecordedExperiment {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new InvalidInputError('--replay', file, 'the record of a run, a file that can be read', { cause: error })
  }
  const events = parseEventLines<RunEvent>(text, file, eventSchema)
  const [first] = events
  if (first?.type !== 'run-start') {
    throw new InvalidInputError(`${file}, line 1`, first?.type, "a record of pctodl run, which begins with 'run-start'")
  }
  // Records of earlier releases contain the caps only outside the experiment.
  const capsW = first.caps.map(({ powerCapW }) => powerCapW)
  const experiment = experimentSchema.safeParse({ capsW, ...(first.about?.['experiment'] as object) })
  if (experiment.success) return { experiment: experiment.data, events }
  const { path: where, message } = experiment.error.issues[0]!
  throw new InvalidInputError(
    `${file}, line 1: ${['about.experiment', ...where].join('.')}`,
    undefined,
    `what pctodl run writes there (${message})`,
  )
}
