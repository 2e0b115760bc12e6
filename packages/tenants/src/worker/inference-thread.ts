import { reasonOf } from '@pctodl/platform'
import type { Failure, StartCommand } from '../protocol/messages.js'
import { monotonicMs } from '../protocol/monotonic.js'
import { largestThatRuns, meansOutOfMemory, OutOfMemory } from './memory-guard.js'

/** Thrown if a dependency of the worker is not installed. */
export class MissingRuntime extends Error {}

/** A loaded model that a worker runs. */
export interface LoadedModel {
  readonly runtime: string
  readonly device: string
  readonly note: string | undefined
  /** Run a batch of this size. */
  run(batchSize: number): Promise<void> | void
}

interface AskedBatch {
  readonly id: number
  readonly requests: number
  readonly batchSize: number
}

export type FromInference =
  | { readonly kind: 'hello'; readonly runtime: string; readonly device: string; readonly note: string | undefined }
  | { readonly kind: 'ready'; readonly batchSize: number }
  | { readonly kind: 'completed'; readonly samples: number; readonly batchMs: number; readonly atMs: number }
  | ({ readonly kind: 'answered'; readonly batchMs: number; readonly atMs: number } & AskedBatch)
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'stopped' }

export type ToInference =
  | { readonly kind: 'batch'; readonly batchSize: number }
  | ({ readonly kind: 'run' } & AskedBatch)
  | { readonly kind: 'stop' }

/** The main thread as the inference thread sees it. A `MessagePort` implements it. */
export interface InferencePort {
  on(event: 'message', listener: (message: ToInference) => void): unknown
  postMessage(message: FromInference): void
}

/**
 * Loads a model and runs batches, one after another or on request, until a drain command. All errors are sent to the
 * main thread.
 */
export async function inferOn(
  port: InferencePort,
  start: StartCommand,
  load: (start: StartCommand) => Promise<LoadedModel>,
): Promise<void> {
  try {
    await infer(port, start, load)
  } catch (error) {
    port.postMessage({ kind: 'failed', failure: failureOf(error) })
  }
}

async function infer(
  port: InferencePort,
  start: StartCommand,
  load: (start: StartCommand) => Promise<LoadedModel>,
): Promise<void> {
  const send = (message: FromInference) => port.postMessage(message)
  const model = await load(start)
  send({ kind: 'hello', runtime: model.runtime, device: model.device, note: model.note })
  const asked: AskedBatch[] = []
  let { batchSize } = start
  let stopping = false
  let wake = () => {}
  port.on('message', (message) => {
    if (message.kind === 'stop') stopping = true
    else if (message.kind === 'run') asked.push(message)
    else batchSize = message.batchSize
    wake()
  })
  /**
   * Runs a batch.
   * @returns its duration, ms, and the time at which it was done
   */
  const runTimed = async (size: number) => {
    const startedMs = monotonicMs()
    await runOrFail(model, start.model, size)
    const atMs = monotonicMs()
    return { batchMs: atMs - startedMs, atMs }
  }
  // The first batch of each size takes longer, so each size is run once before any request.
  for (const size of isFree(start) ? [batchSize] : start.batchSizes) await runOrFail(model, start.model, size)
  send({ kind: 'ready', batchSize })
  if (isFree(start)) {
    while (!stopping) {
      const samples = batchSize
      send({ kind: 'completed', samples, ...(await runTimed(samples)) })
      // Lets the event loop receive commands between batches.
      await new Promise((resolve) => setImmediate(resolve))
    }
  } else {
    while (!stopping || asked.length > 0) {
      const next = asked.shift()
      if (next) send({ ...next, kind: 'answered', ...(await runTimed(next.batchSize)) })
      else {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    }
  }
  send({ kind: 'stopped' })
}

/** Whether the worker runs batch after batch, and not on request. */
export function isFree(start: StartCommand): start is StartCommand & ({ version: 1 } | { mode: 'free' }) {
  return start.version === 1 || start.mode === 'free'
}

async function runOrFail(model: LoadedModel, name: string, size: number): Promise<void> {
  try {
    await model.run(size)
  } catch (error) {
    if (!meansOutOfMemory(error)) throw error
    const message = `${name} at batch ${size} ${error instanceof Error ? error.message : error}`
    const largestBatchSize = await largestThatRuns(size, (smaller) => model.run(smaller))
    throw Object.assign(new OutOfMemory(message), { batchSize: size, largestBatchSize })
  }
}

function failureOf(error: unknown): Failure {
  const message = reasonOf(error)
  if (error instanceof OutOfMemory) {
    const { batchSize, largestBatchSize } = error
    return { type: 'failed', reason: 'out-of-memory', message, batchSize, largestBatchSize }
  }
  return { type: 'failed', reason: error instanceof MissingRuntime ? 'missing' : 'error', message }
}
