import { InvalidInputError } from '@pctodl/platform'
import { z } from 'zod'

/**
 * The protocol between the pool and a worker: one JSON object a line, commands on the worker's standard input, reports on its
 * standard output. Times are milliseconds on CLOCK_MONOTONIC (`process.hrtime` in Node.js, `time.monotonic` in Python), which all
 * processes of a machine share.
 *
 * Version 1: a worker runs batch after batch, and counts. Version 2: it may also be told which batches to run, and answers each.
 * The pool says in `start` which version it speaks, the worker answers with the same in `hello`.
 */
export const PROTOCOL_VERSION = 2
export type ProtocolVersion = 1 | 2

/** `free`: batch after batch, as fast as it can. `on-request`: only what it is told to. */
export type WorkerMode = 'free' | 'on-request'

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

interface StartFields {
  type: 'start'
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

export type Command =
  /** The first command, once: what to run. */
  | (StartFields & { version: 1 })
  | (StartFields & {
      version: 2
      mode: WorkerMode
      /** On request: the batch sizes that will be asked for, ascending; each is run once before `ready`. Empty where free. */
      batchSizes: number[]
    })
  /** Change the batch size after the batch in flight; of a worker that runs freely. */
  | { type: 'batch'; id: number; batchSize: number }
  /** Version 2, on request: run a batch of this size for so many requests, after those that were asked for before. */
  | { type: 'run'; id: number; requests: number; batchSize: number }
  /** Report at once, with this id. */
  | { type: 'report'; id: number }
  /** Finish the batch in flight, report, end. */
  | { type: 'drain'; id: number }

const startFields = {
  type: z.literal('start'),
  model: z.string(),
  modelFile: z.string().nullable(),
  mpsPercent: z.number(),
  batchSize: z.int().min(1),
  images: imageFileSchema,
  logFile: z.string().nullable(),
  sampleBytes: z.number().nullable(),
  memoryLimitBytes: z.number().nullable(),
  options: z.record(z.string(), z.unknown()),
}

export const commandSchema: z.ZodType<Command> = z.discriminatedUnion('type', [
  z.discriminatedUnion('version', [
    z.strictObject({ ...startFields, version: z.literal(1) }),
    z.strictObject({
      ...startFields,
      version: z.literal(2),
      mode: z.enum(['free', 'on-request']),
      batchSizes: z.array(z.int().min(1)),
    }),
  ]),
  z.strictObject({ type: z.literal('batch'), id: count, batchSize: z.int().min(1) }),
  z
    .strictObject({ type: z.literal('run'), id: count, requests: z.int().min(1), batchSize: z.int().min(1) })
    .refine(({ requests, batchSize }) => requests <= batchSize, {
      path: ['requests'],
      message: 'more than the batchSize',
    }),
  z.strictObject({ type: z.literal('report'), id: count }),
  z.strictObject({ type: z.literal('drain'), id: count }),
])

export type Report =
  /** First: who I am, in the version of `start`. `note` tells of a choice that the worker made, e.g. the processor for want of a GPU. */
  | {
      type: 'hello'
      version: ProtocolVersion
      runtime: string
      device: string
      note?: string | undefined
    }
  /** The model is loaded and has run once; from now on the worker runs freely, or what it is told to. */
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
  /** Version 2: the batch of the `run` with this id is done. `progress` counts its requests as samples, not what filled it up. */
  | { type: 'answered'; id: number; atMs: number; batchMs: number }
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
    version: z.union([z.literal(1), z.literal(2)]),
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
  z.strictObject({ type: z.literal('answered'), id: count, atMs: monotonicMs, batchMs: z.number().min(0) }),
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

/** @throws InvalidInputError for a line that is no command of the protocol */
export function parseCommand(line: string): Command {
  return parseLine(commandSchema, line, 'command')
}

/** @throws InvalidInputError for a line that is no report of the protocol */
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
  throw new InvalidInputError(
    [what, ...path].join('.'),
    shortened(line),
    `${message} (protocols 1 to ${PROTOCOL_VERSION})`,
  )
}

function shortened(line: string): string {
  return line.length > 200 ? `${line.slice(0, 200)} ...` : line
}
