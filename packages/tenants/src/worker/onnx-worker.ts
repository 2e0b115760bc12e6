import { fileURLToPath } from 'node:url'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import type { Command, Failure, StartCommand } from '../protocol/messages.js'
import { monotonicMs } from '../protocol/monotonic.js'
import { largestThatRuns, meansOutOfMemory } from './memory-guard.js'
import { MissingRuntime, OnnxModel } from './onnx-model.js'
import { WorkerSide } from './worker-side.js'

/**
 * The worker on onnxruntime-node, a program of its own. Inference blocks the thread that it runs on, so it has one for itself:
 * the main thread stays free for commands and heartbeats, however long a batch takes.
 */
type FromInference =
  | { readonly kind: 'hello'; readonly runtime: string; readonly device: string; readonly note: string | undefined }
  | { readonly kind: 'ready'; readonly batchSize: number }
  | { readonly kind: 'completed'; readonly samples: number; readonly latencyMs: number; readonly atMs: number }
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'stopped' }

type ToInference = { readonly kind: 'batch'; readonly batchSize: number } | { readonly kind: 'stop' }

if (isMainThread) listen()
else infer(workerData as StartCommand).catch(failWith)

function listen(): void {
  const side = new WorkerSide()
  let inference: Worker | undefined
  let drainId: number | undefined
  const post = (message: ToInference) => inference?.postMessage(message)
  side.listen((command: Command) => {
    if (command.type === 'start') {
      side.logTo(command.logFile)
      inference = new Worker(fileURLToPath(import.meta.url), { workerData: command, execArgv: process.execArgv })
      inference.on('message', onMessage)
      inference.on('error', (error) => side.fail({ type: 'failed', reason: 'error', message: error.message }))
    } else if (command.type === 'batch') post({ kind: 'batch', batchSize: command.batchSize })
    else if (command.type === 'report') side.report(command.id)
    else {
      drainId = command.id
      if (inference) post({ kind: 'stop' })
      else side.drained(drainId)
    }
  })

  function onMessage(message: FromInference): void {
    if (message.kind === 'hello') {
      const { runtime, device, note } = message
      side.send({ type: 'hello', version: 1, runtime, device, ...(note === undefined ? {} : { note }) })
    } else if (message.kind === 'ready') side.ready(message.batchSize)
    else if (message.kind === 'completed') side.completed(message.samples, message.latencyMs, message.atMs)
    else if (message.kind === 'failed') side.fail(message.failure)
    else side.drained(drainId!)
  }
}

async function infer(start: StartCommand): Promise<void> {
  const send = (message: FromInference) => parentPort!.postMessage(message)
  const model = await OnnxModel.load(start)
  send({ kind: 'hello', runtime: model.runtime, device: model.device, note: model.note })
  let { batchSize } = start
  let stopping = false
  parentPort!.on('message', (message: ToInference) => {
    if (message.kind === 'stop') stopping = true
    else batchSize = message.batchSize
  })
  const runOrFail = async (size: number) => {
    try {
      await model.run(size)
    } catch (error) {
      if (!meansOutOfMemory(error)) throw error
      const message = `${start.model} at batch ${size} ${error instanceof Error ? error.message : error}`
      const largestBatchSize = await largestThatRuns(size, (smaller) => model.run(smaller))
      throw Object.assign(new Error(message), { outOfMemory: { batchSize: size, largestBatchSize } })
    }
  }
  await runOrFail(batchSize)
  send({ kind: 'ready', batchSize })
  while (!stopping) {
    const size = batchSize
    const startedMs = monotonicMs()
    await runOrFail(size)
    const atMs = monotonicMs()
    send({ kind: 'completed', samples: size, latencyMs: atMs - startedMs, atMs })
    // Let commands in between batches.
    await new Promise((resolve) => setImmediate(resolve))
  }
  send({ kind: 'stopped' })
}

function failWith(error: unknown): void {
  const { outOfMemory } = error as { outOfMemory?: { batchSize: number; largestBatchSize: number | null } }
  const message = error instanceof Error ? error.message : String(error)
  const failure: Failure = outOfMemory
    ? { type: 'failed', reason: 'out-of-memory', message, ...outOfMemory }
    : { type: 'failed', reason: error instanceof MissingRuntime ? 'missing' : 'error', message }
  parentPort!.postMessage({ kind: 'failed', failure } satisfies FromInference)
}
