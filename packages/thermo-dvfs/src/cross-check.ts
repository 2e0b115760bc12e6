import { control, SECOND_MS } from './constants.js'

/**
 * Compares two measurements of one board's power: the reading, and an energy counter or external meter. A constant
 * ratio is their calibration error and becomes the baseline. A change of the ratio shows that one of them is faulty.
 */
export class CrossCheck {
  #sinceMs = 0
  /**
   * Time integral of the first power since the start of the window, W ms; `second` is the integral of the second power.
   */
  #first = 0
  #second = 0
  /** Usual ratio of second to first power, as far as it is known. */
  #baseline = 1
  #windows = 0
  /** Ratio of second to first power in the last window, relative to the baseline. */
  #ratio = 1
  disagrees = false

  /** Factor by which to multiply the reading according to the other meter; above 1 if the reading is too low. */
  get correction(): number {
    return this.disagrees ? this.#ratio : 1
  }

  /**
   * True if, in the unfinished window, the other meter has already counted more energy than the usual ratio allows.
   */
  get contradicts(): boolean {
    return this.#first > 0 && this.#second / this.#first / this.#baseline - 1 > this.#toleratedShare
  }

  /** Add mean powers over the same interval, W; the first power must be above 0. */
  compare(timeMs: number, durationMs: number, firstW: number, secondW: number): void {
    if (this.#first === 0) this.#sinceMs = timeMs - durationMs
    this.#first += firstW * durationMs
    this.#second += secondW * durationMs
    // A reading that is too low counts after one second, any other difference after two.
    if (timeMs - this.#sinceMs < (this.contradicts ? SECOND_MS : control.maxDelayMs)) return
    this.#conclude(this.#second / this.#first)
    this.interrupt()
  }

  /** Discard the unfinished window, in which the two meters may have measured different times or loads. */
  interrupt(): void {
    this.#first = 0
    this.#second = 0
  }

  /** Drop the disagreement of a meter that no longer reports. */
  dismiss(): void {
    this.interrupt()
    this.disagrees = false
  }

  #conclude(ratio: number): void {
    this.#ratio = ratio / this.#baseline
    this.disagrees = Math.abs(this.#ratio - 1) > this.#toleratedShare
    if (this.disagrees) return
    this.#windows++
    this.#baseline += Math.max(control.meanWeight, 1 / (this.#windows + 1)) * (ratio - this.#baseline)
  }

  /**
   * Allowed deviation of the ratio. Sensors of one board differ, so while the baseline is uncertain, twice the
   * deviation is allowed.
   */
  get #toleratedShare(): number {
    const known = this.#windows * control.maxDelayMs >= 2 * control.patienceMs
    return (known ? 1 : 2) * control.changedShare
  }
}
