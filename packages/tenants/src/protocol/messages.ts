import { InvalidInputError } from '@pctodl/platform'
import { z } from 'zod'

/**
 * Newest version of the protocol between the pool and a worker.
 *
 * Each line is one JSON object: commands on the worker's standard input, reports on its standard output. Times are
 * milliseconds on CLOCK_MONOTONIC (`process.hrtime` in Node.js, `time.monotonic` in Python), which all processes of a
 * machine share.
 *
 * Version 1: a worker runs batch after batch and counts them. Version 2: the pool may instead request single batches,
 * and the worker reports each one. `start` contains the pool's version, which the worker repeats in `hello`.
 */
export const PROTOCOL_VERSION = 2
export type ProtocolVersion = 1 | 2

/** `free`: the worker runs batch after batch. `on-request`: it runs only batches that the pool requests. */
export type WorkerMode = 'free' | 'on-request'

/** Maximum length of a line, bytes. A worker that writes a longer line counts as failed. */
export const LONGEST_LINE: number = 1 << 20

const count = z.int().min(0)
const monotonicMs = z.number().min(0)

/**
 * A file with prepared images that every worker reads: normalised 32-bit floats, one image after another, each in
 * channel-height-width order.
 */
export interface ImageFile {
  file: string
  count: number
  channels: number
  height: number
  width: number
}

const imageFileSchema: z.ZodType<ImageFile> = z.strictObject({
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
  /** File to which the worker appends its own counts with each report, for comparison with those of the pool. */
  logFile: string | null
  /**
   * Memory that a batch needs per sample, bytes, if known. With it, the worker rejects a batch before memory runs out.
   */
  sampleBytes: number | null
  memoryLimitBytes: number | null
  /** Options specific to this kind of worker. */
  options: Record<string, unknown>
}

export type Command =
  /** The first command, sent once: what to run. */
  | (StartFields & { version: 1 })
  | (StartFields & {
      version: 2
      mode: WorkerMode
      /**
       * In mode `on-request`: the batch sizes that may be requested, ascending. The worker runs each of them once
       * before `ready`. Empty in mode `free`.
       */
      batchSizes: number[]
    })
  /** Changes the batch size of a worker in mode `free`, after its current batch. */
  | { type: 'batch'; id: number; batchSize: number }
  /**
   * Version 2, mode `on-request`: runs a batch of `batchSize` samples for `requests` requests, after all batches
   * requested before.
   */
  | { type: 'run'; id: number; requests: number; batchSize: number }
  /** Requests an immediate `progress` report with this id. */
  | { type: 'report'; id: number }
  /** Makes the worker finish its current batch, report, and end. */
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
  /**
   * The first report. It repeats the version of `start`. `note` describes a choice of the worker, for example that it
   * uses the CPU because there is no GPU.
   */
  | {
      type: 'hello'
      version: ProtocolVersion
      runtime: string
      device: string
      note?: string | undefined
    }
  /** The model is loaded and has run once. From now on, the worker runs batches as its mode says. */
  | { type: 'ready'; atMs: number }
  /** Counters since `ready`, and the latencies of the batches completed since the last report. */
  | {
      type: 'progress'
      samples: number
      batches: number
      latencySumMs: number
      lastCompletionMs: number
      batchSize: number
      latenciesMs: number[]
      /** Id of the `report` command that this report answers. */
      id?: number | undefined
    }
  /**
   * Version 2: the batch of the `run` command with this id is done. In `progress`, its requests count as samples, but
   * its padding does not.
   */
  | { type: 'answered'; id: number; atMs: number; batchMs: number }
  | { type: 'heartbeat'; atMs: number }
  /** The worker cannot continue, and ends. */
  | {
      type: 'failed'
      reason: 'out-of-memory' | 'missing' | 'error'
      message: string
      /** The batch size that did not fit in memory. */
      batchSize?: number | undefined
      largestBatchSize?: number | null | undefined
    }
  /** The last report. All batches have been counted and reported, and the worker ends. */
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

/**
 * Parses a command.
 * @throws InvalidInputError if the line is not a command of the protocol
 */
export function parseCommand(line: string): Command {
  return parseLine(commandSchema, line, 'command')
}

/**
 * Parses a report.
 * @throws InvalidInputError if the line is not a report of the protocol
 */
export function parseReport(line: string): Report {
  return parseLine(reportSchema, line, 'report')
}

function parseLine<T>(schema: z.ZodType<T>, line: string, what: string): T {
  let json: unknown
  try {
    json = JSON.parse(line)
  } catch (cause) {
    throw new InvalidInputError(what, shortened(line), 'one JSON object per line', { cause })
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
