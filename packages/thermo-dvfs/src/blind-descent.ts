import type { ClockTuning } from './clock-tuning.js'

const STEP_MS = 1000
/** Power that a step takes away, percent of the cap. */
const STEP_PERCENT = 3

export interface BlindDescentState {
  steppedMs: number
}

/** Without a reading for long, the board may draw anything: the clock goes down a little each second, to where it is safe enough. */
export class BlindDescent {
  readonly state: BlindDescentState
  readonly #tuning: ClockTuning

  constructor(tuning: ClockTuning, state?: BlindDescentState) {
    this.#tuning = tuning
    this.state = state ?? { steppedMs: 0 }
  }

  /**
   * @param unseenMs time without a usable reading
   * @param power estimated power at a state, W
   * @returns the state to go to
   */
  step(timeMs: number, unseenMs: number, index: number, capW: number, power: (index: number) => number): number {
    const { blindStepDownAfterMs, blindPowerPercent } = this.#tuning
    const powerW = power(index)
    const due = unseenMs > blindStepDownAfterMs && timeMs - this.state.steppedMs >= STEP_MS
    if (!due || powerW <= (blindPowerPercent / 100) * capW) return index
    this.state.steppedMs = timeMs
    let lower = index
    while (lower > 0 && power(lower) > powerW - (STEP_PERCENT / 100) * capW) lower--
    return lower
  }
}
