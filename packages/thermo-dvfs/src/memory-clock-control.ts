import { InvalidInputError } from '@pctodl/platform'
import { control } from './constants.js'

export interface MemoryClockObservation {
  /** Monotonic time, ms. */
  readonly timeMs: number
  readonly powerCapW: number
  /** True if readings at the lowest SM clock are above the cap: `ClockAction.status` is `infeasible`. */
  readonly infeasible: boolean
  /** Estimated power at a memory clock and the lowest SM clock there, W. */
  readonly lowestPowerW: (memClockMhz: number) => number
}

/** The whole state, safe for JSON. */
export interface MemoryClockState {
  readonly memClockMhz: number
  readonly homeMhz: number
  readonly infeasibleSinceMs: number | null
  readonly roomSinceMs: number | null
  /** Number of failed raises since the last plan. Each doubles the time for which a raise must fit. */
  readonly failedRaises: number
  /** Whether the last change was a raise. */
  readonly raised: boolean
}

/**
 * The second, slow actuator. It lowers the memory clock by one state if the lowest SM clock does not hold the cap. It
 * raises the memory clock again towards the plan's clock once there has been enough headroom for some time. On a board
 * with one memory clock it does nothing. It is a state machine without timers or I/O.
 */
export class MemoryClockControl {
  /** Memory clocks, ascending, MHz. */
  readonly #statesMhz: readonly number[]
  #state: MemoryClockState

  /**
   * @param memClocksMhz memory clocks that the board supports under load, MHz
   * @param memClockMhz memory clock of the plan, MHz; one of `memClocksMhz`
   * @param state state of an earlier control with the same clocks, to continue where it stopped
   * @throws InvalidInputError
   */
  constructor(memClocksMhz: readonly number[], memClockMhz: number, state?: MemoryClockState) {
    this.#statesMhz = [...memClocksMhz].sort((a, b) => a - b)
    this.#requireState(memClockMhz)
    this.#state = state ?? planned(memClockMhz)
  }

  serialise(): MemoryClockState {
    return { ...this.#state }
  }

  get memClockMhz(): number {
    return this.#state.memClockMhz
  }

  /** Take over the memory clock of a new plan. Call it when the board runs that clock. */
  setHome(memClockMhz: number): void {
    this.#requireState(memClockMhz)
    this.#state = planned(memClockMhz)
  }

  /**
   * Process one observation.
   *
   * @returns the memory clock to lock, MHz
   */
  step({ timeMs, powerCapW, infeasible, lowestPowerW }: MemoryClockObservation): number {
    const { memClockMhz, homeMhz, failedRaises, raised } = this.#state
    const index = this.#statesMhz.indexOf(memClockMhz)
    const infeasibleSinceMs = infeasible ? (this.#state.infeasibleSinceMs ?? timeMs) : null
    const higher = memClockMhz < homeMhz ? this.#statesMhz[index + 1] : undefined
    const room = !infeasible && higher !== undefined && lowestPowerW(higher) <= control.memoryRaiseShare * powerCapW
    const roomSinceMs = room ? (this.#state.roomSinceMs ?? timeMs) : null
    this.#state = { ...this.#state, infeasibleSinceMs, roomSinceMs }
    if (infeasibleSinceMs !== null && timeMs - infeasibleSinceMs >= 2 * control.sampleMs && index > 0) {
      return this.#go(this.#statesMhz[index - 1]!, raised ? failedRaises + 1 : failedRaises, false)
    }
    const patienceMs = control.holdOffMs * 2 ** Math.min(control.memoryDoublings, failedRaises)
    if (roomSinceMs !== null && timeMs - roomSinceMs >= patienceMs) return this.#go(higher!, failedRaises, true)
    return memClockMhz
  }

  #go(memClockMhz: number, failedRaises: number, raised: boolean): number {
    const { homeMhz } = this.#state
    this.#state = { memClockMhz, homeMhz, infeasibleSinceMs: null, roomSinceMs: null, failedRaises, raised }
    return memClockMhz
  }

  #requireState(memClockMhz: number): void {
    if (this.#statesMhz.includes(memClockMhz)) return
    throw new InvalidInputError('memClockMhz', memClockMhz, `one of memClocksMhz: ${this.#statesMhz.join(', ')}`)
  }
}

function planned(memClockMhz: number): MemoryClockState {
  return {
    memClockMhz,
    homeMhz: memClockMhz,
    infeasibleSinceMs: null,
    roomSinceMs: null,
    failedRaises: 0,
    raised: false,
  }
}
