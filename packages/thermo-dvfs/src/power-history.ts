import { AppliedPower, type AppliedPowerState } from './applied-power.js'
import { LONGEST_LAG_MS, ReadingLag, type ReadingLagState, SAME_LAG_MS } from './reading-lag.js'

export interface PowerHistoryState {
  readonly applied: AppliedPowerState
  readonly lag: ReadingLagState
}

export const AVERAGE_WINDOW_MS = 1000
export const INSTANT_WINDOW_MS = 100
/** Readings are renewed about every 100 ms, so they are half of that old. */
export const READING_AGE_MS = 50
/** How far the timing of readings and clocks may be wrong. */
export const TIMING_MS = 100
/** Share of a power change within the window that uncertain timing makes uncertain. */
const TIMING_UNCERTAINTY = 0.15
/** The same while it is not known how late the readings are. */
const UNKNOWN_LAG_UNCERTAINTY = 0.5
/** Change of power, relative, that a window may hold and still count as one of a steady clock. */
const STEADY = 0.02

/** Whatever is read is of no earlier time, ms. */
export const LONGEST_LOOK_BACK_MS: number = AVERAGE_WINDOW_MS + LONGEST_LAG_MS

/** The model's power of the clocks that the board ran, laid under readings with their windows and their lateness. */
export class PowerHistory {
  readonly #applied = new AppliedPower()
  readonly #lag: ReadingLag

  constructor(state?: PowerHistoryState) {
    this.#lag = new ReadingLag(state?.lag)
    if (state) this.#applied.restore(state.applied)
  }

  get state(): PowerHistoryState {
    return { applied: this.#applied.state(), lag: this.#lag.state }
  }

  /** How late readings are known to be, ms. */
  get lagMs(): number {
    return this.#lag.known ? this.#lag.lagMs : 0
  }

  /** Whether it is known how late readings are. */
  get lagKnown(): boolean {
    return this.#lag.known
  }

  /** How late readings may be, as long as nobody knows better, ms. */
  get longestLagMs(): number {
    return this.#lag.known ? this.#lag.lagMs : LONGEST_LAG_MS
  }

  /** It is known that readings show a move of the clock at once. */
  get prompt(): boolean {
    return this.#lag.known && this.#lag.lagMs === 0
  }

  /** A move of the clock has shown at once. */
  shownPromptly(): void {
    this.#lag.believe(0)
  }

  /** A move of the clock has not shown at once: the lateness that is believed in is true. */
  shownLate(): void {
    this.#lag.believe(this.#lag.state.index)
  }

  /** From `startMs` on the model's power is `modelW`. */
  push(startMs: number, modelW: number): void {
    this.#applied.push(startMs, modelW)
  }

  /** The end of the window of a reading that is seen now, ms. */
  endOf(timeMs: number): number {
    return timeMs - READING_AGE_MS - this.#lag.lagMs
  }

  /** Mean of the model's power over the window of a reading, W. */
  under(endMs: number, windowMs: number): number {
    return this.#applied.average(endMs - windowMs, endMs)
  }

  /** Highest minus lowest power by the model that may show in a reading, as far as its lag is known, W. */
  spread(endMs: number, windowMs: number): number {
    return this.#applied.spread(this.#earliestMs(endMs, windowMs), this.#latestMs(endMs))
  }

  /** Highest power by the model that may show in a reading, W. */
  highest(endMs: number, windowMs: number): number {
    return this.#applied.highest(this.#earliestMs(endMs, windowMs), this.#latestMs(endMs))
  }

  /** Lowest power by the model that may show in a reading, W. */
  lowest(endMs: number, windowMs: number): number {
    return this.#applied.lowest(this.#earliestMs(endMs, windowMs), this.#latestMs(endMs))
  }

  /** What uncertain timing makes uncertain of a reading, W of the model. */
  uncertainW(endMs: number, windowMs: number): number {
    return (this.#lag.known ? TIMING_UNCERTAINTY : UNKNOWN_LAG_UNCERTAINTY) * this.spread(endMs, windowMs)
  }

  /** Whether no change of the clock that matters falls into a reading's window. */
  steady(endMs: number, windowMs: number): boolean {
    return this.spread(endMs, windowMs) <= STEADY * this.under(endMs, windowMs)
  }

  /** How far the model's power has moved since a time, W. */
  movedSince(sinceMs: number, timeMs: number): number {
    return Math.abs(this.under(timeMs, INSTANT_WINDOW_MS) - this.under(sinceMs, INSTANT_WINDOW_MS))
  }

  /** Highest minus lowest power by the model in all the time that a reading may be of, W. */
  longSpread(timeMs: number): number {
    return this.#applied.spread(timeMs - LONGEST_LOOK_BACK_MS, timeMs)
  }

  /**
   * Compare how the readings follow the clock with how they would under other lags.
   *
   * @param readingW W; null where none came
   * @param windowMs that it is the mean of
   * @param impliedW the model's power that such a reading speaks of, W
   * @param explainedFromMs from when on clocks alone explain the power
   */
  watchLag(timeMs: number, readingW: number | null, windowMs: number, impliedW: number, explainedFromMs: number): void {
    const fromMs = timeMs - READING_AGE_MS - LONGEST_LAG_MS - windowMs
    // What was seen until the load changed may tell already.
    if (fromMs < explainedFromMs || this.#applied.spread(fromMs, timeMs) === 0) this.#lag.conclude()
    else if (readingW !== null) {
      this.#lag.during(readingW, (lagMs) => this.#nearest(timeMs - READING_AGE_MS - lagMs, windowMs, impliedW))
    }
  }

  /** Mean of the model's power over a window, as near to a power as the uncertain timing of readings and clocks allows, W. */
  #nearest(endMs: number, windowMs: number, powerW: number): number {
    const earlierW = this.under(endMs - TIMING_MS, windowMs)
    const laterW = this.under(endMs + TIMING_MS, windowMs)
    return Math.min(Math.max(earlierW, laterW), Math.max(Math.min(earlierW, laterW), powerW))
  }

  /** From when on a clock may show in a reading whose window ends at a time. */
  #earliestMs(endMs: number, windowMs: number): number {
    return endMs - windowMs - TIMING_MS - (this.#lag.known ? this.#lagErrorMs : LONGEST_LAG_MS)
  }

  /** Until when it may. */
  #latestMs(endMs: number): number {
    return endMs + READING_AGE_MS + this.#lagErrorMs
  }

  /** Of readings that are late, it is known to the nearest of the lags that are told apart. */
  get #lagErrorMs(): number {
    return this.lagMs > 0 ? SAME_LAG_MS / 2 : 0
  }
}
