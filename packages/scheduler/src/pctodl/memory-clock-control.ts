/** Time after which an infeasible cap lowers the memory clock, ms. */
const LOWER_AFTER_MS = 200
/**
 * A higher memory clock must fit within this fraction of the cap for this time, ms. The time doubles with each failed
 * raise, at most `MAX_DOUBLINGS` times.
 */
const RAISE_SHARE = 0.95
const RAISE_AFTER_MS = 20_000
const MAX_DOUBLINGS = 6

export interface MemoryClockObservation {
  readonly timeMs: number
  readonly powerCapW: number
  /** True if readings at the lowest SM clock are above the cap: `ClockAction.status` is `infeasible`. */
  readonly infeasible: boolean
  /** Memory clock in use, MHz. */
  readonly memClockMhz: number
  /** Estimated power at a memory clock and the lowest SM clock there, W. */
  readonly lowestPowerW: (memClockMhz: number) => number
}

/**
 * The second, slow actuator. It lowers the memory clock by one state if the lowest SM clock does not hold the cap. It
 * raises the memory clock again towards the plan's clock once there has been enough headroom for some time. On a board
 * with one memory clock it does nothing.
 */
export class MemoryClockControl {
  readonly #statesMhz: readonly number[]
  readonly #planMhz: number
  /** Direction in which the clock should change, and the time since which it should, ms. */
  #direction = 0
  #sinceMs = 0
  #failedRaises = 0
  /** Whether the last change was a raise. */
  #raised = false

  /** @param planMhz memory clock of the plan, MHz; one of `memClocksMhz` */
  constructor(memClocksMhz: readonly number[], planMhz: number) {
    this.#statesMhz = [...memClocksMhz].sort((a, b) => a - b)
    this.#planMhz = planMhz
  }

  /** Returns the memory clock to lock, MHz. */
  step({ timeMs, powerCapW, infeasible, memClockMhz, lowestPowerW }: MemoryClockObservation): number {
    const index = this.#statesMhz.indexOf(memClockMhz)
    const fits = () => lowestPowerW(this.#statesMhz[index + 1]!) <= RAISE_SHARE * powerCapW
    const direction = infeasible ? -1 : memClockMhz < this.#planMhz && fits() ? 1 : 0
    if (direction !== this.#direction) {
      this.#direction = direction
      this.#sinceMs = timeMs
    }
    const afterMs = direction < 0 ? LOWER_AFTER_MS : RAISE_AFTER_MS * 2 ** Math.min(MAX_DOUBLINGS, this.#failedRaises)
    const next = this.#statesMhz[index + direction]
    if (direction === 0 || next === undefined || timeMs - this.#sinceMs < afterMs) return memClockMhz
    if (direction < 0 && this.#raised) this.#failedRaises++
    this.#raised = direction > 0
    this.#direction = 0
    return next
  }
}
