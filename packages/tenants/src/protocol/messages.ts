import { InvalidInputError } from '@pctodl/platform'
import { z } from 'zod'

/**
 * Version 1 of the protocol between the pool and a worker: one JSON object a line, commands on the worker's standard input,
 * reports on its standard output. Times are milliseconds on CLOCK_MONOTONIC (`process.hrtime` in Node.js, `time.monotonic` in
 * Python), which all processes of a machine share.
 */
export const PROTOCOL_VERSION = 1

/** Longest line, bytes; a worker that writes more is broken. */
export const LONGEST_LINE = 1 << 20

const count = z.int().min(0)
const monotonicMs = z.number().min(0)

/** Prepared images that every worker reads: 32-bit floats, normalised, image after image in channel-height-width order. */
export const imageFileSchema = z.strictObject({
  file: z.string(),
  count: z.int().min(1),
  channels: z.int().min(1),
  height: z.int().min(1),
  width: z.int().min(1),
})

export const commandSchema = z.discriminatedUnion('type', [
  /** The first command, once: what to run. */
  z.strictObject({
    type: z.literal('start'),
    version: z.literal(PROTOCOL_VERSION),
    model: z.string(),
    /** ONNX file, for workers that need one. */
    modelFile: z.string().nullable(),
    mpsPercent: z.number(),
    batchSize: z.int().min(1),
    images: imageFileSchema,
    /** Where the worker writes a line for every report: its own count, to be compared with the pool's. */
    logFile: z.string().nullable(),
    /** Memory that one sample in flight takes, bytes, where it is known; decides before the operating system does. */
    sampleBytes: z.number().nullable(),
    memoryLimitBytes: z.number().nullable(),
    /** What only this kind of worker knows. */
    options: z.record(z.string(), z.unknown()),
  }),
  /** Change the batch size after the batch in flight. */
  z.strictObject({ type: z.literal('batch'), id: count, batchSize: z.int().min(1) }),
  /** Report at once, with this id. */
  z.strictObject({ type: z.literal('report'), id: count }),
  /** Finish the batch in flight, report, end. */
  z.strictObject({ type: z.literal('drain'), id: count }),
])

export const reportSchema = z.discriminatedUnion('type', [
  /** First: who I am. `note` tells of a choice that the worker made, e.g. the processor for want of a GPU. */
  z.strictObject({
    type: z.literal('hello'),
    version: z.literal(PROTOCOL_VERSION),
    runtime: z.string(),
    device: z.string(),
    note: z.string().optional(),
  }),
  /** The model is loaded and has run once; from now on the worker runs freely. */
  z.strictObject({ type: z.literal('ready'), atMs: monotonicMs }),
  /** Counters since `ready`, and the latencies of the batches that are new since the last report. */
  z.strictObject({
    type: z.literal('progress'),
    samples: count,
    batches: count,
    latencySumMs: z.number().min(0),
    lastCompletionMs: monotonicMs,
    batchSize: z.int().min(1),
    latenciesMs: z.array(z.number().min(0)),
    /** Of the command that asked for it. */
    id: count.optional(),
  }),
  z.strictObject({ type: z.literal('heartbeat'), atMs: monotonicMs }),
  /** The worker cannot go on, and ends. */
  z.strictObject({
    type: z.literal('failed'),
    reason: z.enum(['out-of-memory', 'missing', 'error']),
    message: z.string(),
    /** The batch that did not fit, and the largest tried that does; null where none was found. */
    batchSize: z.int().min(1).optional(),
    largestBatchSize: z.int().min(1).nullable().optional(),
  }),
  /** Everything is counted and reported; the worker ends. */
  z.strictObject({ type: z.literal('drained'), id: count }),
])

export type Command = z.infer<typeof commandSchema>
export type StartCommand = Extract<Command, { type: 'start' }>
export type Report = z.infer<typeof reportSchema>
export type Progress = Extract<Report, { type: 'progress' }>
export type Failure = Extract<Report, { type: 'failed' }>
export type ImageFile = z.infer<typeof imageFileSchema>

/** @throws InvalidInputError for a line that is no command of this version */
export function parseCommand(line: string): Command {
  return parseLine(commandSchema, line, 'command')
}

/** @throws InvalidInputError for a line that is no report of this version */
export function parseReport(line: string): Report {
  return parseLine(reportSchema, line, 'report')
}

function parseLine<T>(schema: z.ZodType<T>, line: string, what: string): T {
  let json: unknown
  try {
    json = JSON.parse(line)
  } catch (cause) {
    throw new InvalidInputError(what, shortened(line), 'one JSON object a line', { cause })
  }
  const result = schema.safeParse(json)
  if (result.success) return result.data
  const { path, message } = result.error.issues[0]!
  throw new InvalidInputError([what, ...path].join('.'), shortened(line), `${message} (protocol ${PROTOCOL_VERSION})`)
}

function shortened(line: string): string {
  return line.length > 200 ? `${line.slice(0, 200)} ...` : line
}
