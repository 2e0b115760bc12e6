import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import type { Command, StartCommand } from '../protocol/messages.js'
import { type FromInference, inferOn, isFree, type LoadedModel, type ToInference } from './inference-thread.js'
import { WorkerSide } from './worker-side.js'

/**
 * Runs a worker program. Inference blocks its thread, so it runs on a separate thread, and the main thread can handle
 * commands and heartbeats during a batch.
 *
 * @param program path of the program, which the inference thread also runs
 * @param load called on the inference thread; throws MissingRuntime if a dependency is not installed
 */
export function inferenceProgram(program: string, load: (start: StartCommand) => Promise<LoadedModel>): void {
  if (isMainThread) {
    const side = new WorkerSide()
    side.listen(obeying(side, (start) => new Worker(program, { workerData: start })))
  } else void inferOn(parentPort!, workerData as StartCommand, load)
}

/** The inference thread as the main thread sees it. A `Worker` implements it. */
export interface InferenceThread {
  on(event: 'message', listener: (message: FromInference) => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  postMessage(message: ToInference): void
}

/**
 * Returns the handler for the pool's commands. On the main thread, it forwards commands about inference to the
 * inference thread, and reports results to the pool.
 */
export function obeying(
  side: Pick<WorkerSide, 'logTo' | 'hello' | 'ready' | 'completed' | 'answered' | 'report' | 'drained' | 'fail'>,
  inferring: (start: StartCommand) => InferenceThread,
): (command: Command) => void {
  let inference: InferenceThread | undefined
  let start: StartCommand | undefined
  let drainId: number | undefined
  const onMessage = (message: FromInference): void => {
    if (message.kind === 'hello') side.hello(message.runtime, message.device, message.note)
    else if (message.kind === 'ready') side.ready(message.batchSize)
    else if (message.kind === 'completed') side.completed(message.samples, message.batchMs, message.atMs)
    else if (message.kind === 'answered') side.answered(message.id, message.requests, message.batchMs, message.atMs)
    else if (message.kind === 'failed') side.fail(message.failure)
    else side.drained(drainId!)
  }
  return (command) => {
    if (command.type === 'start') {
      start = command
      side.logTo(command.logFile)
      inference = inferring(command)
      inference.on('message', onMessage)
      inference.on('error', (error) => side.fail({ type: 'failed', reason: 'error', message: error.message }))
    } else if (command.type === 'batch') inference?.postMessage({ kind: 'batch', batchSize: command.batchSize })
    else if (command.type === 'run') {
      if (!start || isFree(start)) throw new Error('command.type: run is for a worker that was started on request')
      inference?.postMessage({ kind: 'run', id: command.id, requests: command.requests, batchSize: command.batchSize })
    } else if (command.type === 'report') side.report(command.id)
    else {
      drainId = command.id
      if (inference) inference.postMessage({ kind: 'stop' })
      else side.drained(drainId)
    }
  }
}
