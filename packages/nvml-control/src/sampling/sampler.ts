import { type Clock, type Gpu, InvalidInputError, PctodlError, systemClock, type Telemetry } from '@pctodl/platform'
import { summarizeWindow, type WindowSummary } from './window-summary.js'

/** Minimum sampling period, ms (50 Hz). Sensors refresh no faster, and each reading takes driver time. */
const MIN_PERIOD_MS = 20

export interface SamplerOptions {
  /** Time between two samples, ms; at least 20. Default 100. */
  readonly periodMs?: number
  /** Number of samples kept, and thus how far a window can reach back. Default 6000: ten minutes at 100 ms. */
  readonly capacity?: number
  /** Default: real time. */
  readonly clock?: Clock
  readonly onSample?: (sample: Telemetry) => void
  readonly onError?: (error: unknown) => void
}

/**
 * Samples a board at a fixed period. Sample n is due at start + n x period, so that delays do not add up. If a sample
 * is late, those that were due in the meantime count as missed and are not repeated.
 */
export class Sampler {
  readonly periodMs: number
  /** Number of scheduled samples that failed or were skipped because of a delay. */
  missed = 0
  /** Error of the last sample; null if it succeeded. */
  lastError: Error | null = null
  readonly #samples: Telemetry[] = []
  readonly #capacity: number
  readonly #gpu: Pick<Gpu, 'sample'>
  readonly #clock: Clock
  readonly #options: SamplerOptions
  #stop: AbortController | undefined
  #running: Promise<void> = Promise.resolve()

  /** @throws InvalidInputError for a period or capacity out of range */
  constructor(gpu: Pick<Gpu, 'sample'>, options: SamplerOptions = {}) {
    const { periodMs = 100, capacity = 6000, clock = systemClock } = options
    if (!(periodMs >= MIN_PERIOD_MS)) throw new InvalidInputError('periodMs', periodMs, `at least ${MIN_PERIOD_MS}`)
    if (!Number.isInteger(capacity) || capacity < 2)
      throw new InvalidInputError('capacity', capacity, 'an integer of at least 2')
    this.#gpu = gpu
    this.#clock = clock
    this.#options = options
    this.periodMs = periodMs
    this.#capacity = capacity
  }

  /** The latest samples, oldest first. */
  get samples(): readonly Telemetry[] {
    return this.#samples
  }

  /** Start sampling. The first sample is taken immediately. @throws PctodlError `SAMPLER_RUNNING` */
  start(): void {
    if (this.#stop) throw new PctodlError('SAMPLER_RUNNING', 'the sampler runs already; stop it first')
    this.#stop = new AbortController()
    this.#running = this.#run(this.#stop.signal)
  }

  /** Stop sampling and keep the samples. Idempotent. */
  async stop(): Promise<void> {
    this.#stop?.abort()
    await this.#running
    this.#stop = undefined
  }

  /** Begins a window. Its `end` returns the summary. Windows may overlap and nest. */
  beginWindow(name = 'window'): { end(): WindowSummary } {
    const beginMs = this.#clock.now()
    let summary: WindowSummary | undefined
    return { end: () => (summary ??= this.summarize(beginMs, this.#clock.now(), name)) }
  }

  /** Summarizes the samples between two times of the sampler's clock, ms. */
  summarize(beginMs: number, endMs: number, name = 'window'): WindowSummary {
    return summarizeWindow(this.#samples, { name, beginMs, endMs, periodMs: this.periodMs, lastError: this.lastError })
  }

  async #run(signal: AbortSignal): Promise<void> {
    const startMs = this.#clock.now()
    for (let n = 0; !signal.aborted; ) {
      await this.#takeSample()
      // Skips the samples whose due time has passed, and counts them as missed.
      const next = Math.max(n + 1, Math.ceil((this.#clock.now() - startMs) / this.periodMs))
      this.missed += next - n - 1
      n = next
      await this.#clock.sleep(startMs + n * this.periodMs - this.#clock.now(), signal).catch((error: unknown) => {
        if (!signal.aborted) throw error
      })
    }
  }

  async #takeSample(): Promise<void> {
    try {
      const sample = await this.#gpu.sample()
      this.#samples.push(sample)
      if (this.#samples.length > this.#capacity) this.#samples.shift()
      this.lastError = null
      this.#options.onSample?.(sample)
    } catch (error) {
      this.missed++
      this.lastError = error instanceof Error ? error : new Error(String(error))
      this.#options.onError?.(error)
    }
  }
}
