import { InvalidInputError } from '@pctodl/platform'
import { z } from 'zod'

/**
 * Version 1 of the protocol between the pool and a worker: one JSON object a line, commands on the worker's standard input,
 * reports on its standard output. Times are milliseconds on CLOCK_MONOTONIC (`process.hrtime` in Node.js, `time.monotonic` in
 * Python), which all processes of a machine share.
 */
export const PROTOCOL_VERSION = 1

/** Longest line, bytes; a worker that writes more is broken. */
export const LONGEST_LINE: number = 1 << 20

const count = z.int().min(0)
const monotonicMs = z.number().min(0)

/** Prepared images that every worker reads: 32-bit floats, normalised, image after image in channel-height-width order. */
export interface ImageFile {
  file: string
  count: number
  channels: number
  height: number
  width: number
}

export const imageFileSchema: z.ZodType<ImageFile> = z.strictObject({
  file: z.string(),
  count: z.int().min(1),
  channels: z.int().min(1),
  height: z.int().min(1),
  width: z.int().min(1),
})

export type Command =
  /** The first command, once: what to run. */
  | {
      type: 'start'
      version: typeof PROTOCOL_VERSION
      model: string
      /** ONNX file, for workers that need one. */
      modelFile: string | null
      mpsPercent: number
      batchSize: number
      images: ImageFile
      /** Where the worker writes a line for every report: its own count, to be compared with the pool's. */
      logFile: string | null
      /** Memory that one sample in flight takes, bytes, where it is known; decides before the operating system does. */
      sampleBytes: number | null
      memoryLimitBytes: number | null
      /** What only this kind of worker knows. */
      options: Record<string, unknown>
    }
  /** Change the batch size after the batch in flight. */
  | { type: 'batch'; id: number; batchSize: number }
  /** Report at once, with this id. */
  | { type: 'report'; id: number }
  /** Finish the batch in flight, report, end. */
  | { type: 'drain'; id: number }

export const commandSchema: z.ZodType<Command> = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('start'),
    version: z.literal(PROTOCOL_VERSION),
    model: z.string(),
    modelFile: z.string().nullable(),
    mpsPercent: z.number(),
    batchSize: z.int().min(1),
    images: imageFileSchema,
    logFile: z.string().nullable(),
    sampleBytes: z.number().nullable(),
    memoryLimitBytes: z.number().nullable(),
    options: z.record(z.string(), z.unknown()),
  }),
  z.strictObject({ type: z.literal('batch'), id: count, batchSize: z.int().min(1) }),
  z.strictObject({ type: z.literal('report'), id: count }),
  z.strictObject({ type: z.literal('drain'), id: count }),
])

export type Report =
  /** First: who I am. `note` tells of a choice that the worker made, e.g. the processor for want of a GPU. */
  | {
      type: 'hello'
      version: typeof PROTOCOL_VERSION
      runtime: string
      device: string
      note?: string | undefined
    }
  /** The model is loaded and has run once; from now on the worker runs freely. */
  | { type: 'ready'; atMs: number }
  /** Counters since `ready`, and the latencies of the batches that are new since the last report. */
  | {
      type: 'progress'
      samples: number
      batches: number
      latencySumMs: number
      lastCompletionMs: number
      batchSize: number
      latenciesMs: number[]
      /** Of the command that asked for it. */
      id?: number | undefined
    }
  | { type: 'heartbeat'; atMs: number }
  /** The worker cannot go on, and ends. */
  | {
      type: 'failed'
      reason: 'out-of-memory' | 'missing' | 'error'
      message: string
      /** The batch that did not fit, and the largest tried that does; null where none was found. */
      batchSize?: number | undefined
      largestBatchSize?: number | null | undefined
    }
  /** Everything is counted and reported; the worker ends. */
  | { type: 'drained'; id: number }

export const reportSchema: z.ZodType<Report> = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('hello'),
    version: z.literal(PROTOCOL_VERSION),
    runtime: z.string(),
    device: z.string(),
    note: z.string().optional(),
  }),
  z.strictObject({ type: z.literal('ready'), atMs: monotonicMs }),
  z.strictObject({
    type: z.literal('progress'),
    samples: count,
    batches: count,
    latencySumMs: z.number().min(0),
    lastCompletionMs: monotonicMs,
    batchSize: z.int().min(1),
    latenciesMs: z.array(z.number().min(0)),
    id: count.optional(),
  }),
  z.strictObject({ type: z.literal('heartbeat'), atMs: monotonicMs }),
  z.strictObject({
    type: z.literal('failed'),
    reason: z.enum(['out-of-memory', 'missing', 'error']),
    message: z.string(),
    batchSize: z.int().min(1).optional(),
    largestBatchSize: z.int().min(1).nullable().optional(),
  }),
  z.strictObject({ type: z.literal('drained'), id: count }),
])

export type StartCommand = Extract<Command, { type: 'start' }>
export type Progress = Extract<Report, { type: 'progress' }>
export type Failure = Extract<Report, { type: 'failed' }>

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
