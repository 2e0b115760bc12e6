import type { CallMessage, CallName, Calls, ReplyMessage } from './calls.js'
import source from './worker-source.txt'

interface Waiting {
  readonly onProgress: (value: never) => void
  resolve(value: unknown): void
  reject(error: Error): void
}

/**
 * A worker and its pending calls. The worker's program is embedded in the page, because a page opened as a file cannot
 * load other files.
 */
export class WorkerThread {
  readonly #worker: Worker
  readonly #waiting = new Map<number, Waiting>()
  #nextId = 1

  constructor() {
    const address = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }))
    this.#worker = new Worker(address)
    this.#worker.addEventListener('message', ({ data }: MessageEvent<ReplyMessage>) => this.#receive(data))
    this.#worker.addEventListener('error', ({ message }) => this.#fail(new Error(`the worker: ${message}`)))
  }

  /**
   * Calls the worker and passes on its progress messages. If the signal aborts, the call rejects with the signal's
   * reason.
   */
  call<Name extends CallName>(
    call: Name,
    question: Calls[Name]['question'],
    { onProgress, signal }: { onProgress?: (value: Calls[Name]['progress']) => void; signal?: AbortSignal } = {},
  ): Promise<Calls[Name]['answer']> {
    const id = this.#nextId++
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { onProgress: onProgress ?? (() => {}), resolve: resolve as Waiting['resolve'], reject })
      signal?.addEventListener('abort', () => {
        this.#waiting.delete(id)
        this.#post({ id, call: 'cancel' })
        reject(signal.reason)
      })
      this.#post({ id, call, question } as CallMessage)
    })
  }

  #post(message: CallMessage): void {
    this.#worker.postMessage(message)
  }

  #receive(message: ReplyMessage): void {
    const waiting = this.#waiting.get(message.id)
    if (!waiting) return
    if (message.kind === 'progress') {
      waiting.onProgress(message.value as never)
      return
    }
    this.#waiting.delete(message.id)
    if (message.kind === 'error') waiting.reject(new Error(message.message))
    else waiting.resolve(message.value)
  }

  #fail(error: Error): void {
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }
}
