/** Steps of the clock table by which a measured clock may be off and still be the one asked for. */
const NEAR_STEPS = 0.75
/** A request that has not shown after this time, beyond what is usual here, is none that is underway, ms. */
const UNDERWAY_MS = 400
const LONGEST_ANSWER_MS = 2500
/** A request shows in the next sample: what takes longer is told late. */
const PROMPT_MS = 250

export interface RunClockState {
  askedMs: number
  /** The request of then has not shown yet. */
  waiting: boolean
  /** What was measured when it was made, MHz. */
  beforeMhz: number | null
  /** Time from a request until it shows in the measured clock, beyond what is prompt, ms. */
  answerMs: number
  /** The clock that the board was last seen at, MHz; null where that is not known. */
  clockMhz: number | null
}

/** The clock that the board runs, and how long it takes a request to show. */
export class RunClock {
  readonly state: RunClockState
  readonly #clocksMhz: readonly number[]

  constructor(clocksMhz: readonly number[], state?: RunClockState) {
    this.#clocksMhz = clocksMhz
    this.state = state ?? { askedMs: 0, waiting: false, beforeMhz: null, answerMs: 0, clockMhz: null }
  }

  get answerMs(): number {
    return this.state.answerMs
  }

  ask(timeMs: number): void {
    this.state.askedMs = timeMs
    this.state.waiting = true
    this.state.beforeMhz = this.state.clockMhz
  }

  /** Since the last request, ms. */
  restsMs(timeMs: number): number {
    return timeMs - this.state.askedMs
  }

  /** A request may still be on its way to the board, or the telling of it on its way back. */
  underway(timeMs: number): boolean {
    return this.state.waiting && timeMs - this.state.askedMs < UNDERWAY_MS + this.state.answerMs
  }

  /** @returns measured minus asked clock in steps of the table; null where it was not measured */
  see(timeMs: number, measuredMhz: number | null, asked: number, refused: boolean): number | null {
    const s = this.state
    // Where a request was refused, the board goes on as it was.
    if (measuredMhz !== null || !refused) s.clockMhz = measuredMhz
    if (measuredMhz === null) return null
    const clocks = this.#clocksMhz
    const askedMhz = clocks[asked]!
    const stepMhz = Math.max(askedMhz - (clocks[asked - 1] ?? askedMhz), (clocks[asked + 1] ?? askedMhz) - askedMhz, 1)
    const steps = (measuredMhz - askedMhz) / stepMhz
    // What is refused, or has not shown by now, was not slow: it was lost, and what shows later is another request.
    if (refused || timeMs - s.askedMs > LONGEST_ANSWER_MS + PROMPT_MS) s.waiting = false
    if (Math.abs(steps) <= NEAR_STEPS && s.waiting) {
      s.waiting = false
      // Slow to believe in a shorter one: that one request was quick says little.
      const beyondMs = Math.max(0, timeMs - s.askedMs - PROMPT_MS)
      s.answerMs = Math.min(LONGEST_ANSWER_MS, beyondMs > s.answerMs ? beyondMs : 0.8 * s.answerMs + 0.2 * beyondMs)
    } else if (measuredMhz !== s.beforeMhz) {
      // Neither the old clock nor the new one: firmware has had a say, and the time until it agrees says nothing.
      s.waiting = false
    }
    return steps
  }

  /** Index of the state that the board was last seen in, or of the one asked for. */
  indexNear(asked: number): number {
    const { clockMhz } = this.state
    if (clockMhz === null) return asked
    let index = 0
    for (let i = 0; i < this.#clocksMhz.length; i++) if (this.#clocksMhz[i]! <= clockMhz + 1e-9) index = i
    return index
  }

  /** The model's power at the clock that the board runs, W; between two states in proportion. */
  modelled(modelW: readonly number[], asked: number): number {
    const { clockMhz } = this.state
    const clocks = this.#clocksMhz
    if (clockMhz === null) return modelW[asked]!
    const lower = this.indexNear(asked)
    const upper = Math.min(clocks.length - 1, lower + 1)
    const span = clocks[upper]! - clocks[lower]!
    const position = span === 0 ? 0 : Math.max(0, (clockMhz - clocks[lower]!) / span)
    return modelW[lower]! + position * (modelW[upper]! - modelW[lower]!)
  }
}
