/** Longest bar, in first bars. */
const LONGEST_BAR = 64
/** A barred state that is estimated to draw less than this share of the cap, was barred for another load. */
const CLEAR = 0.97

export interface BarredClockState {
  index: number
  sinceMs: number
  untilMs: number
  /** How long a state stays barred that draws about the cap, ms. */
  forMs: number
  /** The same where it is now known to draw clearly less, ms. */
  clearForMs: number
  /** The clock was raised since. */
  raised: boolean
  /** The bar was lifted early. */
  lifted: boolean
}

/**
 * A state that proved too high is not tried again for a while, twice as long each time that it was tried again and failed: without that
 * memory it would be tried after every dwell. Several states that fail on one way down are one failure.
 *
 * The longest bars are meant for states that draw about the cap. One that draws clearly less by now was barred for a load that is gone, and
 * keeps nobody down for longer than the first bar; but where such loads come back, twice as long each time as well.
 */
export class BarredClock {
  readonly state: BarredClockState
  readonly #firstMs: number

  /** @param firstMs length of the first bar */
  constructor(firstMs: number, state?: BarredClockState) {
    this.#firstMs = firstMs
    this.state = state ?? {
      index: 0,
      sinceMs: 0,
      untilMs: 0,
      forMs: 0,
      clearForMs: firstMs,
      raised: false,
      lifted: false,
    }
  }

  bar(timeMs: number, index: number): void {
    const s = this.state
    const longestMs = LONGEST_BAR * this.#firstMs
    const recent = s.forMs > 0 && timeMs - s.untilMs < longestMs
    if (!recent) s.forMs = this.#firstMs
    else if (s.raised) s.forMs = Math.min(2 * s.forMs, longestMs)
    if (!recent) s.clearForMs = this.#firstMs
    else if (s.lifted) s.clearForMs = Math.min(2 * s.clearForMs, longestMs)
    s.raised = false
    s.lifted = false
    s.index = index
    s.sinceMs = timeMs
    s.untilMs = timeMs + s.forMs
  }

  /** The clock is raised: what fails from now on is another failure. */
  raised(): void {
    this.state.raised = true
  }

  /** Another cap or other tenants: what was too high says nothing any more. */
  forget(timeMs: number): void {
    this.state.untilMs = timeMs
    this.state.forMs = 0
  }

  /**
   * The highest state that may be tried.
   *
   * @param power estimated power at a state, W
   */
  highest(timeMs: number, capW: number, power: (index: number) => number): number {
    const s = this.state
    if (timeMs >= s.untilMs) return Number.POSITIVE_INFINITY
    if (timeMs - s.sinceMs >= s.clearForMs && power(s.index) < CLEAR * capW) {
      s.untilMs = timeMs
      s.lifted = true
      return Number.POSITIVE_INFINITY
    }
    return s.index - 1
  }
}
