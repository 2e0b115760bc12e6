import type { StartCommand } from '../protocol/messages.js'
import { monotonicMs } from '../protocol/monotonic.js'
import type { LoadedModel } from './inference-thread.js'

/** What a batch of the stand-in takes: `baseMs + perSampleMs * batchSize`. */
export interface TimedOptions {
  readonly baseMs?: number
  readonly perSampleMs?: number
}

/** Nothing wakes this. */
const never = new Int32Array(new SharedArrayBuffer(4))
/** What the kernel may take longer than it was asked to wait, ms: this last bit is waited for busily. */
const SLACK_MS = 0.2

/** A stand-in for a network: it infers nothing, and its batches take as long as they are said to. */
export class TimedModel implements LoadedModel {
  readonly runtime = 'stand-in of known batch time'
  readonly device = 'none'
  readonly note = undefined
  readonly #baseMs: number
  readonly #perSampleMs: number

  constructor(start: StartCommand) {
    const { baseMs = 0, perSampleMs = 1 } = start.options as TimedOptions
    this.#baseMs = baseMs
    this.#perSampleMs = perSampleMs
  }

  run(batchSize: number): void {
    const endMs = monotonicMs() + this.#baseMs + this.#perSampleMs * batchSize
    const leftMs = endMs - monotonicMs() - SLACK_MS
    if (leftMs > 0) Atomics.wait(never, 0, 0, leftMs)
    while (monotonicMs() < endMs);
  }
}
