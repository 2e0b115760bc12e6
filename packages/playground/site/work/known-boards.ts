import { type Signal, signal } from '@preact/signals'
import type { BoardDescription } from './models.js'
import type { WorkerThread } from './worker-thread.js'

/** The boards that the page offers: those with shipped parameters and those of opened parameter files. */
export class KnownBoards {
  /** Descriptions of all boards; empty until the worker answers. */
  readonly all: Signal<readonly BoardDescription[]> = signal([])
  readonly #worker: WorkerThread
  readonly #opened = new Map<string, string>()

  constructor(worker: WorkerThread) {
    this.#worker = worker
  }

  async start(): Promise<void> {
    this.all.value = await this.#worker.call('boards', null)
  }

  find(board: string): BoardDescription | undefined {
    return this.all.value.find((candidate) => candidate.board === board)
  }

  /** Returns the parameter file of an opened board; undefined for a shipped board. */
  parametersOf(board: string): string | undefined {
    return this.#opened.get(board)
  }

  /**
   * Opens a parameter file of `pctodl fit`.
   * @throws Error that says what is wrong with the file
   */
  async open(file: File): Promise<BoardDescription> {
    try {
      const json = await file.text()
      const opened = await this.#worker.call('openParameters', { name: file.name, json })
      this.#opened.set(opened.board, json)
      this.all.value = [...this.all.value.filter(({ board }) => board !== opened.board), opened]
      return opened
    } catch (error) {
      throw new Error(`${file.name} cannot be used: ${(error as Error).message}`, { cause: error })
    }
  }
}
