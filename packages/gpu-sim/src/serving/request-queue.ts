/** The waiting requests of one service, by arrival time: a ring buffer with constant-time operations at both ends. */
export class RequestQueue {
  #arrivedMs: Float64Array = new Float64Array(64)
  #again: Uint8Array = new Uint8Array(64)
  #first = 0
  length = 0

  /** Arrival time of the first request, ms. Meaningless if the queue is empty. */
  get firstArrivedMs(): number {
    return this.#arrivedMs[this.#first]!
  }

  push(arrivedMs: number): void {
    if (this.length === this.#arrivedMs.length) this.#grow()
    const at = (this.#first + this.length++) & (this.#arrivedMs.length - 1)
    this.#arrivedMs[at] = arrivedMs
    this.#again[at] = 0
  }

  /** Returns a request to the front for a second attempt. */
  putBack(arrivedMs: number): void {
    if (this.length === this.#arrivedMs.length) this.#grow()
    this.#first = (this.#first - 1) & (this.#arrivedMs.length - 1)
    this.#arrivedMs[this.#first] = arrivedMs
    this.#again[this.#first] = 1
    this.length++
  }

  /** Takes requests from the front. For each, writes its arrival time, and whether it was in a batch before. */
  take(count: number, arrivedMs: Float64Array, again: Uint8Array): void {
    this.#copy(count, arrivedMs, again)
    this.drop(count)
  }

  /** Discards requests from the front of the queue. */
  drop(count: number): void {
    this.#first = (this.#first + count) & (this.#arrivedMs.length - 1)
    this.length -= count
  }

  #copy(count: number, arrivedMs: Float64Array, again: Uint8Array): void {
    const mask = this.#arrivedMs.length - 1
    for (let i = 0; i < count; i++) {
      const at = (this.#first + i) & mask
      arrivedMs[i] = this.#arrivedMs[at]!
      again[i] = this.#again[at]!
    }
  }

  #grow(): void {
    const size = this.#arrivedMs.length
    const arrivedMs = new Float64Array(2 * size)
    const again = new Uint8Array(2 * size)
    this.#copy(this.length, arrivedMs, again)
    this.#arrivedMs = arrivedMs
    this.#again = again
    this.#first = 0
  }
}
