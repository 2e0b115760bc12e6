/** Requests a callback before the next frame: `requestAnimationFrame`, or a substitute in tests. */
export type FrameRequest = (draw: () => void) => void

/**
 * Redraws charts, at most one per frame, so that no single browser task draws all of them. A chart that changes again
 * while it waits is drawn once.
 */
export class Drawing {
  readonly #request: FrameRequest
  readonly #waiting = new Map<object, () => void>()
  #asked = false

  constructor(request: FrameRequest) {
    this.#request = request
  }

  /**
   * Queues a chart for redrawing. If it is already queued, it keeps its position and the new drawing function replaces
   * the old one.
   */
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
      // The next frame is requested before drawing, so that an exception in `draw` does not stop the queue.
      this.#ask()
      draw()
    })
  }
}
