import type { BoardObserver } from './board-observer.js'
import type { ClockTuning } from './clock-tuning.js'

/** At most 1 % of the seconds may exceed the cap by more than 1 %: 2.5 standard deviations below 101 % (2.33 would do). */
const VIOLATION_PERCENT = 101
const VIOLATION_SIGMAS = 2.5
/** A board limit up to this share of the cap holds the cap. */
const HELD_WITHIN = 1.0075
/** What is chosen wrongly stays as much longer as it is read late: a clock must be twice as sure where that is so long, ms. */
const DOUBLY_SURE_MS = 1000
/** Room for a load that comes back heavier, in what it was heavier before. */
const RETURN_ROOM = 1.1

/** The mean of a second above which a cap is judged to be broken, W. */
export function violationW(capW: number): number {
  return (VIOLATION_PERCENT / 100) * capW
}

/** How much a clock may draw, and which clocks do not draw more, by what is known of the board. */
export class PowerTarget {
  readonly #tuning: ClockTuning
  readonly #board: BoardObserver

  constructor(tuning: ClockTuning, board: BoardObserver) {
    this.#tuning = tuning
    this.#board = board
  }

  /** Whether a board limit holds the cap by itself. */
  static holds(powerLimitW: number | null | undefined, powerCapW: number): boolean {
    return powerLimitW !== null && powerLimitW !== undefined && powerLimitW <= powerCapW * HELD_WITHIN
  }

  /**
   * Power that a clock may be raised to, W.
   *
   * @param held the board's own limit holds the cap
   */
  watts(capW: number, held: boolean): number {
    const { heldTargetPercent, targetPercent } = this.#tuning
    if (held) return (heldTargetPercent / 100) * capW
    const noisyPercent = VIOLATION_PERCENT - VIOLATION_SIGMAS * 100 * this.#board.noise.relative
    return (Math.min(targetPercent, noisyPercent) / 100) * capW
  }

  /**
   * The highest state within a power. Where the board holds the cap itself, the lowest that is not: between two states its firmware
   * spends as much time in each as the cap allows, which no locked clock can. What that state draws beyond the present one must be
   * sure, for firmware takes its time to find a clock far below.
   *
   * @param index the present state; absent where nothing has run yet
   */
  highest(boundW: number, held: boolean, index?: number): number {
    const confidence = this.#tuning.confidence * (1 + this.#board.latenessMs / DOUBLY_SURE_MS)
    if (!held) return this.#board.highestWithin(boundW, confidence, this.sureW(boundW))
    const within =
      index === undefined ? this.#board.highestWithin(boundW, 0) : this.#board.highestFrom(index, boundW, confidence)
    return Math.min(this.#board.top, within + 1)
  }

  /**
   * The highest state that a raise goes to at once: up to the target as steep as the level, where the slope that was learnt is less. Such a
   * slope is one of nearby; what is further up is learnt on the way.
   */
  risen(index: number, boundW: number): number {
    const board = this.#board
    const leftW = boundW - board.power(index)
    const slope = Math.max(board.slope, board.power(index) / board.model(index))
    let risen = index
    while (risen < board.top && slope * (board.model(risen + 1) - board.model(index)) <= leftW) risen++
    return Math.min(board.top, risen + 1)
  }

  /** Whether a state must be left for a lower one, by what it is estimated to draw. */
  tooHigh(index: number, targetW: number, capW: number, held: boolean): boolean {
    if (!held) return this.#board.power(index) > this.sureW(targetW)
    // Of what the firmware trims, no more than a state.
    return index > 0 && this.#board.power(index - 1) > violationW(capW)
  }

  /** What a clock may draw where the estimate is wrong, and what the present one may be estimated at before it is lowered, W. */
  sureW(targetW: number): number {
    return targetW * (this.#tuning.surePercent / this.#tuning.targetPercent)
  }

  /**
   * The first state. Where each instant reading can correct it within a sample, what the model says is good enough: a second that
   * begins idle ends below the cap. Else it must be sure.
   */
  first(targetW: number, held: boolean): number {
    if (held || this.#board.readings.instantW === null) return this.highest(targetW, held)
    return this.#board.highestWithin(targetW, 0)
  }

  /**
   * While the tenants pause, the clock waits where they may come back heavier than they went, as far as they have before: the
   * highest state for that. Firmware that holds the cap itself takes some tenths of a second to find it.
   */
  ceiling(targetW: number): number {
    const { away, returnExcess } = this.#board
    if (!away || returnExcess === 0) return Number.POSITIVE_INFINITY
    return this.#board.highestWithin(targetW / (1 + RETURN_ROOM * returnExcess))
  }
}
