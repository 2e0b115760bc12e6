import { InvalidInputError, PctodlError } from '@pctodl/platform'
import { TICK_MS } from './power-sensor.js'
import type { SimulatedGpu } from './simulated-gpu.js'
import type { SimulatedProcess } from './simulated-process.js'

/** One process of a training job: its board, and the number of samples that it processes in each step. */
export interface TrainingWorker {
  readonly gpu: SimulatedGpu
  readonly share: number
  /** Share of the board's SMs, percent. Default 100. */
  readonly mpsPercent?: number
  /**
   * Number of micro-batches into which the process's samples are split as evenly as possible. They run one after the
   * other, and their gradients are accumulated. Default 1.
   */
  readonly microBatches?: number
}

export interface SimulatedTrainingOptions {
  /** Network of which one batch is an optimiser step; `trainingGraph` of `@pctodl/model-zoo` creates one. */
  readonly model: string
  /** Duration of the gradient exchange after each step, in which the boards wait, ms. Default 0. */
  readonly allReduceMs?: number
}

/**
 * Synchronous data-parallel training on simulated boards with a common clock. In each step, every process computes its
 * samples once, faster processes wait for the slowest, and then gradients are exchanged. Time and power are those of
 * the simulated boards.
 *
 * A step or micro-batch shorter than a tick of the boards (5 ms) takes one tick. Each micro-batch also updates the
 * weights; real gradient accumulation does so only once per step.
 */
export class SimulatedTraining {
  /** Number of completed steps. */
  steps = 0
  /** Exact end of the last step on the boards' clock, ms, not rounded to ticks. */
  lastStepMs: number | null = null
  readonly #workers: readonly TrainingWorker[]
  readonly #options: SimulatedTrainingOptions
  #processes: readonly SimulatedProcess[] = []

  /** @throws InvalidInputError without workers, for invalid shares, and for boards with different clocks */
  constructor(workers: readonly TrainingWorker[], options: SimulatedTrainingOptions) {
    const { allReduceMs = 0 } = options
    if (workers.length === 0) throw new InvalidInputError('workers', 'none', 'at least one')
    if (!(Number.isFinite(allReduceMs) && allReduceMs >= 0)) {
      throw new InvalidInputError('allReduceMs', allReduceMs, 'milliseconds, at least 0')
    }
    for (const [i, { gpu, share, microBatches = 1 }] of workers.entries()) {
      if (!Number.isInteger(share) || share < 1) {
        throw new InvalidInputError(`workers[${i}].share`, share, 'a positive integer')
      }
      if (!(Number.isInteger(microBatches) && microBatches >= 1 && microBatches <= share)) {
        throw new InvalidInputError(
          `workers[${i}].microBatches`,
          microBatches,
          `an integer of 1 to its share, ${share}`,
        )
      }
      if (gpu.clock !== workers[0]!.gpu.clock) {
        throw new InvalidInputError(`workers[${i}].gpu`, gpu.name, 'boards of one clock: they wait for one another')
      }
      gpu.assertNetwork(options.model)
    }
    this.#workers = workers
    this.#options = options
  }

  /** Starts the processes and waits until they have loaded. @throws PctodlError `TRAINING_FAILED` */
  async start(signal?: AbortSignal): Promise<void> {
    if (this.#processes.length > 0) throw new PctodlError('IN_USE', 'this training has been started already')
    const { model } = this.#options
    this.#processes = this.#workers.map((worker) =>
      worker.gpu.launch(
        { model, mpsPercent: worker.mpsPercent ?? 100, batchSize: partOf(worker, 0) },
        { stepwise: true },
      ),
    )
    await this.#until(() => this.#processes.every(({ state }) => state === 'running'), signal)
    this.lastStepMs = this.#clock.now()
  }

  /** Runs further steps. @throws PctodlError `TRAINING_FAILED` if a process fails, e.g. for lack of memory */
  async further(steps: number, signal?: AbortSignal): Promise<void> {
    if (this.lastStepMs === null) throw new PctodlError('NOT_STARTED', 'call start() before steps')
    for (let i = 0; i < steps; i++) {
      const begin = Math.max(this.lastStepMs, this.#clock.now() - TICK_MS)
      this.#workers.forEach((_, rank) => {
        this.#beginPart(rank, 0, begin)
      })
      const begun = this.#workers.map(() => 1)
      const isDone = (process: SimulatedProcess, rank: number) => {
        if (!process.waiting || begun[rank] === (this.#workers[rank]!.microBatches ?? 1)) return process.waiting
        this.#beginPart(rank, begun[rank]!++, process.lastCompletionMs)
        return false
      }
      // Every process is asked, since `isDone` may begin the next micro-batch of its process.
      await this.#until(() => this.#processes.map(isDone).every((done) => done), signal)
      const slowest = Math.max(...this.#processes.map(({ lastCompletionMs }) => lastCompletionMs))
      this.lastStepMs = slowest + (this.#options.allReduceMs ?? 0)
      while (this.#clock.now() < this.lastStepMs) await this.#tick(signal)
      this.steps++
    }
  }

  /** Ends the processes. A second call does nothing. */
  async stop(): Promise<void> {
    this.#processes.forEach((process, rank) => {
      this.#workers[rank]!.gpu.terminate(process)
    })
    this.#processes = []
    this.lastStepMs = null
  }

  #beginPart(rank: number, part: number, atMs: number): void {
    const worker = this.#workers[rank]!
    const process = this.#processes[rank]!
    worker.gpu.beginStep(process, atMs)
    // The batch size requested now applies from the next micro-batch on.
    worker.gpu.setBatchSize(process, partOf(worker, part + 1))
  }

  get #clock() {
    return this.#workers[0]!.gpu.clock
  }

  async #until(done: () => boolean, signal?: AbortSignal): Promise<void> {
    for (;;) {
      for (const { gpu } of this.#workers) gpu.catchUp()
      const failed = this.#processes.findIndex(({ state }) => state === 'failed')
      if (failed >= 0) {
        const { gpu, share } = this.#workers[failed]!
        throw new PctodlError('TRAINING_FAILED', `${share} samples on ${gpu.name}: ${this.#processes[failed]!.failure}`)
      }
      if (done()) return
      await this.#tick(signal)
    }
  }

  #tick(signal?: AbortSignal): Promise<void> {
    return this.#clock.sleep(TICK_MS, signal)
  }
}

/**
 * Number of samples of a micro-batch. If samples do not divide evenly, the first micro-batches are larger. The
 * micro-batch after the last is again the first.
 */
function partOf({ share, microBatches = 1 }: TrainingWorker, part: number): number {
  return Math.ceil((share - (part % microBatches)) / microBatches)
}
