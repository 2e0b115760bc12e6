import { type ChildProcess, fork } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { cleanEnvironment, meansGone } from '@pctodl/nvml-control'
import { PctodlError } from '@pctodl/platform'
import type { KeptBoard, KeptBoardOptions } from './kept-board.js'

type Asked = keyof KeptBoard
type Answer<Ask extends Asked> = Awaited<ReturnType<KeptBoard[Ask]>>

interface Waiting {
  readonly timer: NodeJS.Timeout
  resolve(answer: unknown): void
  reject(error: Error): void
}

interface Reply {
  readonly id: number
  readonly result?: unknown
  readonly error?: { readonly code: string; readonly message: string; readonly nvmlCode?: number }
}

/** Time limit of a request, ms. Some requests call the driver several times with pauses, or first start a process. */
const DEADLINE_MS = 10_000

/** Minimum time between two starts, ms, so that a process that always exits at once does not keep a CPU core busy. */
const BETWEEN_STARTS_MS = 1000

export class BoardGoneError extends PctodlError {}

/**
 * The process that makes all NVML calls for one board. If it does not answer, it is killed. Its successor starts only
 * after it has exited: a process that hangs in the driver exits late, and until then no other process may use the
 * board.
 */
export class BoardProcess {
  /** Called when the process has ended unexpectedly, which also ends its lease. */
  onLost: (reason: string) => void = () => {}
  readonly #options: KeptBoardOptions
  readonly #waiting = new Map<number, Waiting>()
  #child: ChildProcess | null = null
  #why = ''
  #startedMs = Number.NEGATIVE_INFINITY
  #isClosed = false
  #board: string
  #nextId = 0

  constructor(options: KeptBoardOptions) {
    this.#options = options
    this.#board = options.board
  }

  /** @throws PctodlError the errors of the board's process; BoardGoneError if board, driver or process is gone */
  async ask<Ask extends Asked>(ask: Ask, ...args: Parameters<KeptBoard[Ask]>): Promise<Answer<Ask>> {
    if (this.#isClosed) throw new BoardGoneError('NVML_TIMEOUT', 'the service is ending')
    if (this.#why !== '') throw new BoardGoneError('NVML_TIMEOUT', this.#why)
    const child = this.#child ?? this.#start()
    const id = this.#nextId++
    const answer = await new Promise<unknown>((resolve, reject) => {
      const timer = setTimeout(
        () => this.#giveUp(`the driver has not answered '${ask}' in ${DEADLINE_MS} ms`),
        DEADLINE_MS,
      )
      this.#waiting.set(id, { timer, resolve, reject })
      child.send({ id, ask, args }, () => {})
    })
    // From now on the board is identified by its UUID, because its index may change.
    if (ask === 'open') this.#board = (answer as Answer<'open'>).uuid
    return answer as Answer<Ask>
  }

  /** Resolves when the process has exited, or after 2.5 s. */
  async close(): Promise<void> {
    // A request that is still queued must not start another process, which would lock the board again.
    this.#isClosed = true
    const child = this.#child
    if (!child) return
    this.onLost = () => {}
    const ended = new Promise((resolve) => child.once('exit', resolve))
    if (child.connected) child.disconnect()
    const timer = setTimeout(() => child.kill('SIGKILL'), this.#why === '' ? 2000 : 0)
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 2500).unref())])
    clearTimeout(timer)
  }

  #start(): ChildProcess {
    if (performance.now() - this.#startedMs < BETWEEN_STARTS_MS)
      throw new BoardGoneError('NVML_TIMEOUT', 'its process has ended a moment ago, and is about to be started again')
    this.#startedMs = performance.now()
    const child = fork(workerProgram(), [JSON.stringify({ ...this.#options, board: this.#board })], {
      execArgv: [],
      env: cleanEnvironment(),
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      // The process gets its own process group, so that Ctrl-C in the service's terminal does not end it.
      detached: true,
    })
    child.on('error', () => {})
    if (child.pid === undefined) throw new BoardGoneError('NVML_TIMEOUT', 'its process cannot be started')
    this.#child = child
    child.on('message', (reply: Reply) => this.#settle(reply))
    child.once('exit', (code, signal) => {
      const reason = this.#why || `its process ended with ${signal ?? code}`
      this.#child = null
      this.#why = ''
      this.#failAll(reason)
      this.onLost(reason)
    })
    return child
  }

  #giveUp(reason: string): void {
    this.#why = reason
    this.#child?.kill('SIGKILL')
    this.#failAll(reason)
    this.onLost(reason)
  }

  #failAll(reason: string): void {
    for (const [id, { timer, reject }] of this.#waiting) {
      clearTimeout(timer)
      this.#waiting.delete(id)
      reject(new BoardGoneError('NVML_TIMEOUT', reason))
    }
  }

  #settle({ id, result, error }: Reply): void {
    const waiting = this.#waiting.get(id)
    if (!waiting) return
    this.#waiting.delete(id)
    clearTimeout(waiting.timer)
    if (!error) {
      waiting.resolve(result)
      return
    }
    const isGone = error.code === 'BOARD_KEPT' || (error.nvmlCode !== undefined && meansGone(error.nvmlCode))
    waiting.reject(new (isGone ? BoardGoneError : PctodlError)(error.code, error.message))
  }
}

/** The worker program is next to this file or, if the service runs from sources, in the package's `dist`. */
function workerProgram(): string {
  const here = path.dirname(fileURLToPath(import.meta.url))
  const places = [here, path.join(here, '..', 'dist')].map((folder) => path.join(folder, 'board-worker.js'))
  return places.find((file) => existsSync(file)) ?? places[0]!
}
