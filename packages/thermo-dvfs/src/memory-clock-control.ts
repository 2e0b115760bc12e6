import { InvalidInputError } from '@pctodl/platform'

export interface MemoryClockObservation {
  /** Monotonic, ms. */
  readonly timeMs: number
  readonly powerCapW: number
  /** Readings of the lowest SM clock are above the cap: `ClockAction.status` is `infeasible`. */
  readonly infeasible: boolean
  /** Estimated power at a memory clock and the lowest SM clock, W. */
  readonly lowestPowerW: (memClockMhz: number) => number
}

/** The whole state, safe for JSON. */
export interface MemoryClockState {
  readonly memClockMhz: number
  readonly homeMhz: number
  readonly infeasibleSinceMs: number | null
  readonly roomSinceMs: number | null
  /** Failed raises since the last plan; each doubles the time for which a raise must fit. */
  readonly failedRaises: number
  /** Whether the last change was a raise. */
  readonly raised: boolean
}

/** Time above the cap at the lowest SM clock after which the memory clock is lowered, ms. */
const LOWER_AFTER_MS = 200
/** Time for which a higher memory clock must fit the cap before it is tried, ms, and how often it doubles at most. */
const RAISE_AFTER_MS = 20_000
const MAX_DOUBLINGS = 6
/** Power at a higher memory clock and the lowest SM clock that still allows a raise, share of the cap. */
const RAISE_BELOW = 0.95

/**
 * The second, slow actuator. It lowers the memory clock by one state where the lowest SM clock does not hold the cap,
 * and raises it again towards the plan's clock once there has been room for long enough. Does nothing on a board with
 * one memory clock. A state machine without timers or I/O.
 */
export class MemoryClockControl {
  /** Ascending, MHz. */
  readonly #statesMhz: readonly number[]
  #state: MemoryClockState

  /**
   * @param memClocksMhz memory clocks for work, MHz
   * @param memClockMhz the memory clock that the plan wants, one of `memClocksMhz`
   * @param state of an earlier one with the same clocks, to go on where it stopped
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

  /** Set the memory clock of a new plan, which is in force. */
  setHome(memClockMhz: number): void {
    this.#requireState(memClockMhz)
    this.#state = planned(memClockMhz)
  }

  /** @returns the memory clock to lock, MHz */
  step({ timeMs, powerCapW, infeasible, lowestPowerW }: MemoryClockObservation): number {
    const { memClockMhz, homeMhz, failedRaises, raised } = this.#state
    const index = this.#statesMhz.indexOf(memClockMhz)
    const infeasibleSinceMs = infeasible ? (this.#state.infeasibleSinceMs ?? timeMs) : null
    const higher = memClockMhz < homeMhz ? this.#statesMhz[index + 1] : undefined
    const room = !infeasible && higher !== undefined && lowestPowerW(higher) <= RAISE_BELOW * powerCapW
    const roomSinceMs = room ? (this.#state.roomSinceMs ?? timeMs) : null
    this.#state = { ...this.#state, infeasibleSinceMs, roomSinceMs }
    if (infeasibleSinceMs !== null && timeMs - infeasibleSinceMs >= LOWER_AFTER_MS && index > 0) {
      return this.#go(this.#statesMhz[index - 1]!, raised ? failedRaises + 1 : failedRaises, false)
    }
    const patienceMs = RAISE_AFTER_MS * 2 ** Math.min(MAX_DOUBLINGS, failedRaises)
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
