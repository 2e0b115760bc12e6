import { control } from './constants.js'

export interface CrossCheckState {
  sinceMs: number
  /** Time integrals of both powers since then, W ms. */
  first: number
  second: number
  /** Second over first, as far as known. */
  baseline: number
  windows: number
  /** Second over first in the last window, over the baseline. */
  ratio: number
  disagrees: boolean
}

/**
 * Holds two powers of one board against each other: the reading and another witness of it (the energy counter, an external
 * meter). A constant ratio between them is each one's own error, and becomes the baseline; one that changes is a fault of one
 * of them.
 */
export class CrossCheck {
  readonly state: CrossCheckState

  constructor(state?: CrossCheckState) {
    this.state = state ?? { sinceMs: 0, first: 0, second: 0, baseline: 1, windows: 0, ratio: 1, disagrees: false }
  }

  /** What the reading must be multiplied by, as the other witness has it: above 1 where the reading is too low. */
  get correction(): number {
    return this.state.disagrees ? this.state.ratio : 1
  }

  get disagrees(): boolean {
    return this.state.disagrees
  }

  /** Mean powers over the same stretch of time, W, the first above 0. */
  compare(timeMs: number, durationMs: number, firstW: number, secondW: number): void {
    const s = this.state
    if (s.first === 0) s.sinceMs = timeMs - durationMs
    s.first += firstW * durationMs
    s.second += secondW * durationMs
    if (timeMs - s.sinceMs < control.compareMs) return
    this.#conclude(s.second / s.first)
    this.interrupt()
  }

  /** The two were not of the same time. */
  interrupt(): void {
    this.state.first = 0
    this.state.second = 0
  }

  /** The other witness has fallen silent: it no longer disagrees. */
  dismiss(): void {
    this.interrupt()
    this.state.disagrees = false
  }

  #conclude(ratio: number): void {
    const s = this.state
    s.ratio = ratio / s.baseline
    const bound = s.windows >= control.baselineWindows ? control.changedShare : control.apartShare
    s.disagrees = Math.abs(s.ratio - 1) > bound
    if (s.disagrees) return
    s.windows++
    s.baseline += Math.max(control.compareMs / control.baselineMs, 1 / (s.windows + 1)) * (ratio - s.baseline)
  }
}
