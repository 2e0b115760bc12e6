import type { BoardObserver } from './board-observer.js'
import { LOOK_BACK_MS } from './cap-law.js'

/** Hysteresis of the infeasible state, share of the cap. */
const FEASIBLE_AGAIN = 0.99
/** A reading below this share of the cap refutes an estimate above it. */
const WELL_BELOW = 0.95
/** A clock that was asked for shows in instant readings by then, ms. */
const SHOWN_MS = 300

export interface LowestClockState {
  /** Until when the board did not run it, ms; null before the first step. */
  otherUntilMs: number | null
  excess: boolean
  infeasible: boolean
}

/** Whether even the lowest clock draws more than the cap: by readings of it as soon as there are any, until then as estimated. */
export class LowestClock {
  readonly state: LowestClockState
  readonly #board: BoardObserver
  readonly #guard: number

  /** @param guardPercent what a reading must be above the cap by */
  constructor(board: BoardObserver, guardPercent: number, state?: LowestClockState) {
    this.#board = board
    this.#guard = 1 + guardPercent / 100
    this.state = state ?? { otherUntilMs: null, excess: false, infeasible: false }
  }

  /** @param index of the state that is asked for now */
  observe(timeMs: number, capW: number, index: number): void {
    const s = this.state
    const board = this.#board
    const { readings, behindClockMs } = board
    if (index > 0 || board.ranIndex(0) > 0 || board.mismatch) s.otherUntilMs = timeMs
    const isRead = readings.state.lastUsableMs === timeMs
    // Whatever it ran before the first step, nobody knows.
    s.otherUntilMs ??= timeMs
    const restsMs = timeMs - s.otherUntilMs
    const boundW = capW * (s.infeasible ? FEASIBLE_AGAIN : this.#guard)
    const { instantW } = readings
    const isShown = isRead && instantW !== null && restsMs >= SHOWN_MS + behindClockMs
    const isMean = isRead && !board.quiet && restsMs >= LOOK_BACK_MS + behindClockMs
    s.excess =
      (isShown && Math.min(instantW, readings.state.fastMeanW ?? 0) > boundW) || (isMean && readings.meanAbove(boundW))
    const isRefuted = isMean && !readings.meanAbove(WELL_BELOW * capW)
    const isEstimated = board.power(0) > capW * (s.infeasible ? FEASIBLE_AGAIN : 1)
    s.infeasible = index === 0 && (s.excess || (isEstimated && !isRefuted))
  }
}
