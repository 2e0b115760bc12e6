import type { FullLoadPower } from './full-load-power.js'
import type { LoadJudge } from './load-judge.js'
import { AVERAGE_WINDOW_MS, INSTANT_WINDOW_MS, type PowerHistory } from './power-history.js'
import type { PowerReadings } from './power-readings.js'
import { PromptReading, type PromptReadingState } from './prompt-reading.js'
import { PromptReturn, type PromptReturnState } from './prompt-return.js'
import type { RunClock } from './run-clock.js'

export interface LatenessState {
  readonly move: PromptReadingState
  readonly comeback: PromptReturnState
}

/** What lateness shows in. */
export interface Followed {
  readonly readings: PowerReadings
  readonly power: FullLoadPower
  readonly history: PowerHistory
  readonly load: LoadJudge
  readonly runClock: RunClock
}

/** How late what is read is, found out by how readings follow the clock. */
export class Lateness {
  readonly #averages: boolean
  readonly #of: Followed
  readonly #prompt: PromptReading
  readonly #comeback: PromptReturn

  constructor(averages: boolean, of: Followed, state?: LatenessState) {
    this.#averages = averages
    this.#of = of
    this.#prompt = new PromptReading(state?.move)
    this.#comeback = new PromptReturn(state?.comeback)
  }

  get state(): LatenessState {
    return { move: this.#prompt.state, comeback: this.#comeback.state }
  }

  /** How late what is read may be beyond its averaging, ms. */
  get latenessMs(): number {
    const { history, runClock } = this.#of
    return Math.max(history.lagMs, runClock.answerMs)
  }

  /** How much later power is read than the clock is, ms. */
  get behindClockMs(): number {
    const { history, runClock } = this.#of
    return Math.max(0, history.lagMs - runClock.answerMs)
  }

  /** The same as long as nobody knows how late they are, ms. */
  get longestLatenessMs(): number {
    return Math.max(this.#of.history.longestLagMs, this.#of.runClock.answerMs)
  }

  /** A reading of now shows what the clock of now draws: no second of averaging, and nothing that comes late. */
  get prompt(): boolean {
    const { readings, history, runClock } = this.#of
    return readings.instantW !== null && history.prompt && runClock.answerMs === 0
  }

  /**
   * Hold a reading against what the clocks of so much earlier draw.
   *
   * @param settledMs from when on tenants ran at full load
   * @param mismatch the board runs another clock than asked for, and nobody knows since when
   */
  followReadings(timeMs: number, settledMs: number, mismatch: boolean): void {
    const { readings, power, history, load } = this.#of
    const plain = readings.instantW === null
    const readingW = plain ? readings.averageW : readings.instantW
    const windowMs = plain && this.#averages ? AVERAGE_WINDOW_MS : INSTANT_WINDOW_MS
    const explainedFromMs = mismatch ? timeMs : Math.max(settledMs, load.lowMs)
    const impliedW = power.estimate.modelled(readingW ?? 0)
    history.watchLag(timeMs, readingW, windowMs, impliedW, explainedFromMs)
  }

  /** @param still some tenants complete nothing */
  followReturns(timeMs: number, still: boolean, index: number, capW: number): void {
    const { readings, power, history, runClock } = this.#of
    const readingW = readings.instantW ?? readings.averageW
    const modelW = runClock.modelled(power.modelW, index)
    if (this.#comeback.observe(timeMs, still, readingW, modelW, capW)) history.shownPromptly()
  }

  /**
   * @param still some tenants complete nothing
   * @param disturbed what the readings do is not the clock's doing alone
   */
  followMoves(timeMs: number, still: boolean, index: number, capW: number, disturbed: boolean): void {
    const { readings, power, history, load, runClock } = this.#of
    const { lagMs } = history
    // Prompt readings that are taken for late make the load look like another one: what is believed of it excuses nothing then.
    if (disturbed || (lagMs > 0 ? still : load.belief.of('full') < 0.5)) {
      this.abandon(timeMs)
      return
    }
    const modelW = runClock.modelled(power.modelW, index)
    const { level, slope: learnt } = power.estimate.state
    // What a lateness that is not true has put under the wrong clocks has made the slope too small.
    const slope = lagMs > 0 ? Math.max(learnt, level) : learnt
    // A lateness that is not known is told from averages by regression alone; one that is believed in they can refute.
    const plain = this.#averages && readings.instantW === null && lagMs > 0
    const readingW = plain ? readings.averageW : readings.instantW
    const windowMs = plain ? AVERAGE_WINDOW_MS : INSTANT_WINDOW_MS
    const shown = this.#prompt.observe({ timeMs, readingW, windowMs, modelW, slope, capW, lagMs })
    if (shown === 'at-once') history.shownPromptly()
    // A load or a cap that moves with the clock now and then looks like promptness: only two in a row refute.
    else if (shown === 'late') history.shownLate()
  }

  /** Tenants start, stop or pause: what the readings do is not the clock's doing. */
  abandon(timeMs: number): void {
    this.#prompt.abandon(timeMs)
  }
}
