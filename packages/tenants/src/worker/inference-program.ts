import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import type { Command, Failure, StartCommand } from '../protocol/messages.js'
import { monotonicMs } from '../protocol/monotonic.js'
import { largestThatRuns, meansOutOfMemory, OutOfMemory } from './memory-guard.js'
import { WorkerSide } from './worker-side.js'

/** The worker lacks something that has to be installed. */
export class MissingRuntime extends Error {}

/** What a worker infers with. */
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

type FromInference =
  | { readonly kind: 'hello'; readonly runtime: string; readonly device: string; readonly note: string | undefined }
  | { readonly kind: 'ready'; readonly batchSize: number }
  | { readonly kind: 'completed'; readonly samples: number; readonly batchMs: number; readonly atMs: number }
  | ({ readonly kind: 'answered'; readonly batchMs: number; readonly atMs: number } & AskedBatch)
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'stopped' }

type ToInference =
  | { readonly kind: 'batch'; readonly batchSize: number }
  | ({ readonly kind: 'run' } & AskedBatch)
  | { readonly kind: 'stop' }

/**
 * A worker as a program of its own. Inference blocks the thread that it runs on, so it has one for itself: the main thread stays
 * free for commands and heartbeats, however long a batch takes.
 *
 * @param program the file of the program: the thread for inference runs it too
 * @param load called on the thread for inference; throws MissingRuntime where something has to be installed
 */
export function inferenceProgram(program: string, load: (start: StartCommand) => Promise<LoadedModel>): void {
  if (isMainThread) listen(program)
  else infer(workerData as StartCommand, load).catch(failWith)
}

function listen(program: string): void {
  const side = new WorkerSide()
  let inference: Worker | undefined
  let start: StartCommand | undefined
  let drainId: number | undefined
  const post = (message: ToInference) => inference?.postMessage(message)
  side.listen((command: Command) => {
    if (command.type === 'start') {
      start = command
      side.logTo(command.logFile)
      inference = new Worker(program, { workerData: command, execArgv: process.execArgv })
      inference.on('message', onMessage)
      inference.on('error', (error) => side.fail({ type: 'failed', reason: 'error', message: error.message }))
    } else if (command.type === 'batch') post({ kind: 'batch', batchSize: command.batchSize })
    else if (command.type === 'run') {
      if (!start || isFree(start)) throw new Error('command.type: run is for a worker that was started on request')
      post({ kind: 'run', id: command.id, requests: command.requests, batchSize: command.batchSize })
    } else if (command.type === 'report') side.report(command.id)
    else {
      drainId = command.id
      if (inference) post({ kind: 'stop' })
      else side.drained(drainId)
    }
  })

  function onMessage(message: FromInference): void {
    if (message.kind === 'hello') side.hello(message.runtime, message.device, message.note)
    else if (message.kind === 'ready') side.ready(message.batchSize)
    else if (message.kind === 'completed') side.completed(message.samples, message.batchMs, message.atMs)
    else if (message.kind === 'answered') side.answered(message.id, message.requests, message.batchMs, message.atMs)
    else if (message.kind === 'failed') side.fail(message.failure)
    else side.drained(drainId!)
  }
}

async function infer(start: StartCommand, load: (start: StartCommand) => Promise<LoadedModel>): Promise<void> {
  const send = (message: FromInference) => parentPort!.postMessage(message)
  const model = await load(start)
  send({ kind: 'hello', runtime: model.runtime, device: model.device, note: model.note })
  const asked: AskedBatch[] = []
  let { batchSize } = start
  let stopping = false
  let wake = () => {}
  parentPort!.on('message', (message: ToInference) => {
    if (message.kind === 'stop') stopping = true
    else if (message.kind === 'run') asked.push(message)
    else batchSize = message.batchSize
    wake()
  })
  /** @returns how long it took, ms, and when it was done */
  const runTimed = async (size: number) => {
    const startedMs = monotonicMs()
    await runOrFail(model, start.model, size)
    const atMs = monotonicMs()
    return { batchMs: atMs - startedMs, atMs }
  }
  // The first batch of each size takes longer: nobody shall wait for it.
  for (const size of isFree(start) ? [batchSize] : start.batchSizes) await runOrFail(model, start.model, size)
  send({ kind: 'ready', batchSize })
  if (isFree(start)) {
    while (!stopping) {
      const samples = batchSize
      send({ kind: 'completed', samples, ...(await runTimed(samples)) })
      // Let commands in between batches.
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

function isFree(start: StartCommand): start is StartCommand & ({ version: 1 } | { mode: 'free' }) {
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

function failWith(error: unknown): void {
  const message = error instanceof Error ? error.message : String(error)
  const reason = error instanceof MissingRuntime ? 'missing' : 'error'
  const failure: Failure =
    error instanceof OutOfMemory
      ? { type: 'failed', reason: 'out-of-memory', message, ...sizesOf(error) }
      : { type: 'failed', reason, message }
  parentPort!.postMessage({ kind: 'failed', failure } satisfies FromInference)
}

function sizesOf({ batchSize, largestBatchSize }: OutOfMemory): Pick<Failure, 'batchSize' | 'largestBatchSize'> {
  return { batchSize, largestBatchSize }
}
