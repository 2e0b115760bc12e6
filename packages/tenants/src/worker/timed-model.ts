import type { StartCommand } from '../protocol/messages.js'
import { monotonicMs } from '../protocol/monotonic.js'
import type { LoadedModel } from './inference-thread.js'

/** Duration of a batch: `baseMs + perSampleMs * batchSize`. */
export interface TimedOptions {
  readonly baseMs?: number
  readonly perSampleMs?: number
}

/** An array that nobody notifies, so that `Atomics.wait` on it always times out. */
const never = new Int32Array(new SharedArrayBuffer(4))
/**
 * Time by which the kernel may wake a thread too late, ms. The last part of a wait, of this length, is a busy loop.
 */
const SLACK_MS = 0.2

/** A stand-in for a network: it only waits for the given time per batch. */
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
