import { control, SECOND_MS } from './constants.js'

export interface CrossCheckState {
  sinceMs: number
  /**
   * Time integral of the first power since the start of the window, W ms; `second` is the integral of the second power.
   */
  first: number
  second: number
  /** Usual ratio of second to first power, as far as it is known. */
  baseline: number
  windows: number
  /** Ratio of second to first power in the last window, relative to the baseline. */
  ratio: number
  disagrees: boolean
}

/**
 * Compares two measurements of one board's power: the reading, and an energy counter or external meter. A constant
 * ratio is their calibration error and becomes the baseline. A change of the ratio shows that one of them is faulty.
 */
export class CrossCheck {
  readonly state: CrossCheckState

  constructor(state?: CrossCheckState) {
    this.state = state ?? { sinceMs: 0, first: 0, second: 0, baseline: 1, windows: 0, ratio: 1, disagrees: false }
  }

  /** Factor by which to multiply the reading according to the other meter; above 1 if the reading is too low. */
  get correction(): number {
    return this.state.disagrees ? this.state.ratio : 1
  }

  /**
   * True if, in the unfinished window, the other meter has already counted more energy than the usual ratio allows.
   */
  get contradicts(): boolean {
    const { first, second, baseline } = this.state
    return first > 0 && second / first / baseline - 1 > this.#toleratedShare
  }

  /** Add mean powers over the same interval, W; the first power must be above 0. */
  compare(timeMs: number, durationMs: number, firstW: number, secondW: number): void {
    const s = this.state
    if (s.first === 0) s.sinceMs = timeMs - durationMs
    s.first += firstW * durationMs
    s.second += secondW * durationMs
    // A reading that is too low counts after one second, any other difference after two.
    if (timeMs - s.sinceMs < (this.contradicts ? SECOND_MS : control.maxDelayMs)) return
    this.#conclude(s.second / s.first)
    this.interrupt()
  }

  /** Discard the unfinished window, in which the two meters may have measured different times or loads. */
  interrupt(): void {
    this.state.first = 0
    this.state.second = 0
  }

  /** Drop the disagreement of a meter that no longer reports. */
  dismiss(): void {
    this.interrupt()
    this.state.disagrees = false
  }

  #conclude(ratio: number): void {
    const s = this.state
    s.ratio = ratio / s.baseline
    s.disagrees = Math.abs(s.ratio - 1) > this.#toleratedShare
    if (s.disagrees) return
    s.windows++
    s.baseline += Math.max(control.meanWeight, 1 / (s.windows + 1)) * (ratio - s.baseline)
  }

  /**
   * Allowed deviation of the ratio. Sensors of one board differ, so while the baseline is uncertain, twice the
   * deviation is allowed.
   */
  get #toleratedShare(): number {
    const known = this.state.windows * control.maxDelayMs >= 2 * control.patienceMs
    return (known ? 1 : 2) * control.changedShare
  }
}
