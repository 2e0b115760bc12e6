import { type ChildProcess, fork } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { cleanEnvironment, meansGone } from '@pctodl/nvml-control'
import { PctodlError } from '@pctodl/platform'
import type { KeptBoard, KeptBoardOptions } from './kept-board.js'

/** What can be asked of a board's process, and what comes back. */
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

/** How long a board may take to answer, ms: some of it asks the driver several times, with pauses. A new process has to start, too. */
const DEADLINE_MS = 10_000

/** Minimum time between two starts, ms: restarting a process that exits at once would keep a core busy. */
const BETWEEN_STARTS_MS = 1000

/** Nothing can be said of the board, or done to it, until it is back. */
export class BoardGoneError extends PctodlError {}

/**
 * The process that makes all calls of NVML about one board. One that does not answer is killed, and another takes its place once it is
 * gone: as long as the driver holds it, nobody else touches the board.
 */
export class BoardProcess {
  /** Told when a process has ended that was not meant to, and with it its lease. */
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

  /** @throws PctodlError what the board's process throws; BoardGoneError where the board, the driver or the process is gone */
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
    // From now on the same board, whatever index it gets.
    if (ask === 'open') this.#board = (answer as Answer<'open'>).uuid
    return answer as Answer<Ask>
  }

  /** Resolves when the process has exited, or the deadline has passed. */
  async close(): Promise<void> {
    // A request that is still queued must not start another process: it would hold the board's lock.
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
      // What is typed at our terminal is not for it.
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

/** The built program beside this file, or, for sources, in the package's `dist`. */
function workerProgram(): string {
  const here = path.dirname(fileURLToPath(import.meta.url))
  const places = [here, path.join(here, '..', 'dist')].map((folder) => path.join(folder, 'board-worker.js'))
  return places.find((file) => existsSync(file)) ?? places[0]!
}
