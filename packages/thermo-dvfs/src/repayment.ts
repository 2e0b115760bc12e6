import type { BoardObserver } from './board-observer.js'
import type { PowerTarget } from './power-target.js'
import { SecondBudget, type SecondBudgetState } from './second-budget.js'

/** Readings that are later tell of a second that is over: there is nothing left to make up for, ms. */
const LATEST_MS = 500
/** What was asked for last shows in a reading by then, beyond its lateness, ms. */
const SHOWN_MS = 200

export interface RepaymentState {
  readonly budget: SecondBudgetState
  readonly memory: RepaymentMemory
}

interface RepaymentMemory {
  /** State to go back to once the excess is made up for; null where none is. */
  back: number | null
  /** The reading that was last answered, W. */
  answeredW: number
}

export interface RepaymentStep {
  readonly timeMs: number
  readonly capW: number
  readonly targetW: number
  readonly held: boolean
  /** The state that was asked for last, and when. */
  readonly index: number
  readonly changedMs: number
}

/**
 * What was drawn above the cap is made up for within its second; then the clock goes back to where it may be. Only instant readings
 * say what the parts of a second drew: where there are none, this does nothing.
 */
export class Repayment {
  readonly #board: BoardObserver
  readonly #target: PowerTarget
  readonly #budget: SecondBudget
  readonly #memory: RepaymentMemory

  constructor(board: BoardObserver, target: PowerTarget, state?: RepaymentState) {
    this.#board = board
    this.#target = target
    this.#budget = new SecondBudget(state?.budget)
    this.#memory = state?.memory ?? { back: null, answeredW: 0 }
  }

  get state(): RepaymentState {
    return { budget: this.#budget.state, memory: this.#memory }
  }

  observe(timeMs: number, capW: number): void {
    const { readings, latenessMs } = this.#board
    this.#budget.add(timeMs, capW, readings.instantW, latenessMs)
  }

  /** @returns the state to ask for in place of the one that is wanted */
  step(wanted: number, step: RepaymentStep): number {
    const m = this.#memory
    const { capW, index } = step
    const { readings } = this.#board
    const average = readings.averageW === null ? null : readings.averageW / capW
    const timely = this.#board.latenessMs <= LATEST_MS
    const left = timely && this.#budget.exceeded(average) ? this.#budget.left() : Number.POSITIVE_INFINITY
    if (left < 1) return this.#lower(wanted, left * capW, step)
    if (wanted < index) m.back = null
    if (m.back === null || readings.instantW === null || readings.above(capW)) return wanted
    const back = m.back
    m.back = null
    if (this.#board.mismatch || readings.contradictory) return wanted
    const { targetW, held } = step
    return Math.max(wanted, Math.min(back, this.#target.highest(targetW, held, index), this.#target.ceiling(targetW)))
  }

  #lower(wanted: number, boundW: number, { timeMs, capW, targetW, index, changedMs }: RepaymentStep): number {
    const m = this.#memory
    m.back = wanted < index ? Math.min(m.back ?? wanted, wanted) : (m.back ?? wanted)
    const { readings, latenessMs } = this.#board
    const readW = readings.instantW
    // A reading that was answered, or is of before the last answer, says nothing new.
    if (readW === null || readW === m.answeredW || timeMs - changedMs < SHOWN_MS + latenessMs)
      return Math.min(wanted, index)
    // The way back ends where what is read now would have kept the cap.
    if (readW > capW) m.back = Math.min(m.back, this.#within(targetW, readW, index))
    if (readW <= boundW) return Math.min(wanted, index)
    m.answeredW = readW
    return Math.min(wanted, this.#within(boundW, readW, index))
  }

  /** The highest state up to the present one that draws so much, in proportion to the model, where `readW` is what is read now. */
  #within(powerW: number, readW: number, index: number): number {
    const boundW = (powerW / readW) * this.#board.modelReadW
    let lower = index
    while (lower > 0 && this.#board.model(lower) > boundW) lower--
    return lower
  }
}
