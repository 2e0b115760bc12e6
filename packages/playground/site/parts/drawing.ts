/** Requests a callback before the next frame: `requestAnimationFrame`, or a substitute in tests. */
export type FrameRequest = (draw: () => void) => void

/**
 * Draws at most one chart per frame, so that no single browser task draws all charts. A chart that changes again before
 * its turn is drawn once.
 */
export class Drawing {
  readonly #request: FrameRequest
  readonly #waiting = new Map<object, () => void>()
  #asked = false

  constructor(request: FrameRequest) {
    this.#request = request
  }

  /** Queues a redraw. A chart that is already queued keeps its position; the latest drawing function is used. */
  add(thing: object, draw: () => void): void {
    this.#waiting.set(thing, draw)
    this.#ask()
  }

  /** Removes a chart from the queue. */
  remove(thing: object): void {
    this.#waiting.delete(thing)
  }

  #ask(): void {
    if (this.#asked || this.#waiting.size === 0) return
    this.#asked = true
    this.#request(() => {
      this.#asked = false
      const [first] = this.#waiting
      if (!first) return
      const [thing, draw] = first
      this.#waiting.delete(thing)
      // The next turn is requested before drawing, so that an exception in `draw` does not stop the queue.
      this.#ask()
      draw()
    })
  }
}
