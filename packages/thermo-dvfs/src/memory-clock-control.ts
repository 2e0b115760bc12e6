import { InvalidInputError } from '@pctodl/platform'

export interface MemoryClockOptions {
  /** Memory clocks for work, MHz. */
  readonly memClocksMhz: readonly number[]
  /** Time at the lowest SM clock above the cap after which the memory clock is lowered, ms. Default 1500. */
  readonly lowerAfterMs?: number
  /** Time for which a higher memory clock must fit the cap before it is tried, ms. Default 20 000. */
  readonly raiseAfterMs?: number
  /**
   * Power at a higher memory clock and the lowest SM clock that still allows a raise, percent of the cap. Default 95.
   */
  readonly raiseBelowPercent?: number
}

export interface MemoryClockObservation {
  /** Monotonic, ms. */
  readonly timeMs: number
  readonly powerCapW: number
  /** Above the cap at the lowest SM clock: `ClockAction.status` is `infeasible`. */
  readonly infeasible: boolean
  /** Readings of that clock show it, not only an estimate: `ClockAction.seen.excess`. Default false. */
  readonly sure?: boolean
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

/** Time before lowering where readings themselves are above the cap, ms. */
const SURE_MS = 200
/** Longest time before a raise, as a multiple of the first. */
const MAX_DOUBLINGS = 6

/**
 * The second, slow actuator. It lowers the memory clock by one state where the lowest SM clock does not hold the cap,
 * and raises it again towards the plan's clock once there has been room for long enough. Does nothing on a board with
 * one memory clock. A state machine without timers or I/O.
 */
export class MemoryClockControl {
  /** Ascending, MHz. */
  readonly #statesMhz: readonly number[]
  readonly #lowerAfterMs: number
  readonly #raiseAfterMs: number
  readonly #raiseBelow: number
  #state: MemoryClockState

  /**
   * @param memClockMhz the memory clock that the plan wants, one of `memClocksMhz`
   * @param state of an earlier one with the same options, to go on where it stopped
   * @throws InvalidInputError
   */
  constructor(options: MemoryClockOptions, memClockMhz: number, state?: MemoryClockState) {
    const { memClocksMhz, lowerAfterMs = 1500, raiseAfterMs = 20_000, raiseBelowPercent = 95 } = options
    this.#statesMhz = [...memClocksMhz].sort((a, b) => a - b)
    this.#requireState(memClockMhz)
    this.#lowerAfterMs = lowerAfterMs
    this.#raiseAfterMs = raiseAfterMs
    this.#raiseBelow = raiseBelowPercent / 100
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
  step({ timeMs, powerCapW, infeasible, sure = false, lowestPowerW }: MemoryClockObservation): number {
    const { memClockMhz, homeMhz, failedRaises } = this.#state
    const index = this.#statesMhz.indexOf(memClockMhz)
    const infeasibleSinceMs = infeasible ? (this.#state.infeasibleSinceMs ?? timeMs) : null
    const higher = memClockMhz < homeMhz ? this.#statesMhz[index + 1] : undefined
    const room = !infeasible && higher !== undefined && lowestPowerW(higher) <= this.#raiseBelow * powerCapW
    const roomSinceMs = room ? (this.#state.roomSinceMs ?? timeMs) : null
    this.#state = { ...this.#state, infeasibleSinceMs, roomSinceMs }
    const lowerAfterMs = sure ? Math.min(SURE_MS, this.#lowerAfterMs) : this.#lowerAfterMs
    if (infeasibleSinceMs !== null && timeMs - infeasibleSinceMs >= lowerAfterMs && index > 0) {
      return this.#go(this.#statesMhz[index - 1]!, this.#state.raised ? failedRaises + 1 : failedRaises, false)
    }
    const patienceMs = this.#raiseAfterMs * 2 ** Math.min(MAX_DOUBLINGS, failedRaises)
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
