import type { Telemetry } from '@pctodl/platform'

/** The latest samples, numbered from 0 since the ring was created. */
export class SampleRing {
  readonly capacity: number
  readonly #samples: Telemetry[] = []
  #count = 0

  constructor(capacity: number) {
    this.capacity = capacity
  }

  /** Number of samples ever written. */
  get count(): number {
    return this.#count
  }

  /** Number of the oldest sample still kept. */
  get oldest(): number {
    return Math.max(0, this.#count - this.capacity)
  }

  push(sample: Telemetry): void {
    this.#samples[this.#count++ % this.capacity] = sample
  }

  /** @param number of a sample that is still kept */
  at(number: number): Telemetry {
    return this.#samples[number % this.capacity]!
  }

  /** The samples between two times inclusive, oldest first. */
  between(beginMs: number, endMs: number): Telemetry[] {
    const found: Telemetry[] = []
    for (let i = this.#count - 1; i >= this.oldest && this.at(i).timeMs >= beginMs; i--) {
      if (this.at(i).timeMs <= endMs) found.push(this.at(i))
    }
    return found.reverse()
  }
}
