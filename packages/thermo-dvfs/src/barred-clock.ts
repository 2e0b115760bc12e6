/** Longest bar, in first bars. */
const LONGEST_BAR = 64

export interface BarredClockState {
  index: number
  untilMs: number
  forMs: number
}

/**
 * A state that proved too high is not tried again for a while, twice as long each time: without that memory it would be tried
 * after every dwell.
 */
export class BarredClock {
  readonly state: BarredClockState
  readonly #firstMs: number

  /** @param firstMs length of the first bar */
  constructor(firstMs: number, state?: BarredClockState) {
    this.#firstMs = firstMs
    this.state = state ?? { index: 0, untilMs: 0, forMs: 0 }
  }

  bar(timeMs: number, index: number): void {
    const s = this.state
    const recent = s.forMs > 0 && timeMs - s.untilMs < LONGEST_BAR * this.#firstMs
    s.forMs = recent ? Math.min(2 * s.forMs, LONGEST_BAR * this.#firstMs) : this.#firstMs
    s.index = index
    s.untilMs = timeMs + s.forMs
  }

  /** Another cap or other tenants: what was too high says nothing any more. */
  forget(timeMs: number): void {
    this.state.untilMs = timeMs
    this.state.forMs = 0
  }

  /** The highest state that may be tried. */
  highest(timeMs: number): number {
    return timeMs < this.state.untilMs ? this.state.index - 1 : Number.POSITIVE_INFINITY
  }
}
