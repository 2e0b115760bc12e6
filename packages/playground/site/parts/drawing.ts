/** Asks for a turn before the next picture of the page; `requestAnimationFrame`, or a test's own. */
export type FrameRequest = (draw: () => void) => void

/**
 * What has to be drawn anew, one thing in each frame: no task has to draw all of them, and what changes again before its turn has
 * come is drawn once.
 */
export class Drawing {
  readonly #request: FrameRequest
  readonly #waiting = new Map<object, () => void>()
  #asked = false

  constructor(request: FrameRequest) {
    this.#request = request
  }

  /** Draw a thing when its turn comes. It keeps its place in the row; the latest way to draw it counts. */
  add(thing: object, draw: () => void): void {
    this.#waiting.set(thing, draw)
    this.#ask()
  }

  /** A thing that is gone needs no drawing. */
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
      // Before it draws: what fails must not hold up the others.
      this.#ask()
      draw()
    })
  }
}
