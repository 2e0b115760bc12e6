/** Requests a turn before the next frame; `requestAnimationFrame`, or a test's own. */
export type FrameRequest = (draw: () => void) => void

/**
 * Redraws one thing per frame, so that no task has to draw all of them. A thing that changes again before its turn is
 * drawn once.
 */
export class Drawing {
  readonly #request: FrameRequest
  readonly #waiting = new Map<object, () => void>()
  #asked = false

  constructor(request: FrameRequest) {
    this.#request = request
  }

  /** Draw a thing when its turn comes. It keeps its place in the queue; the latest drawing function counts. */
  add(thing: object, draw: () => void): void {
    this.#waiting.set(thing, draw)
    this.#ask()
  }

  /** A thing that was removed needs no drawing. */
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
      // Removed before drawing: a failure must not hold up the others.
      this.#ask()
      draw()
    })
  }
}
