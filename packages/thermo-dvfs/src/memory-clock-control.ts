import { InvalidInputError } from '@pctodl/platform'

export interface MemoryClockOptions {
  /** Memory clocks to work at, MHz. */
  readonly memClocksMhz: readonly number[]
  /** Time at the lowest SM clock and above the cap before the memory clock goes down, ms. Default 1500. */
  readonly lowerAfterMs?: number
  /** Time for which a higher memory clock must fit below the cap before it is tried, ms. Default 20 000. */
  readonly raiseAfterMs?: number
  /** Share of the cap that the lowest SM clock may draw at a higher memory clock, percent. Default 95. */
  readonly raiseBelowPercent?: number
}

export interface MemoryClockObservation {
  /** Monotonic, ms. */
  readonly timeMs: number
  readonly powerCapW: number
  /** At the lowest SM clock and still above the cap: `ClockAction.status` is `infeasible`. */
  readonly infeasible: boolean
  /** Readings of that very clock say so, and not just an estimate: `ClockAction.seen.excess`. Default false. */
  readonly sure?: boolean
  /** Estimated power of a memory clock at the lowest SM clock, W. */
  readonly lowestPowerW: (memClockMhz: number) => number
}

/** Everything that it remembers, safe for JSON. */
export interface MemoryClockState {
  readonly memClockMhz: number
  readonly homeMhz: number
  readonly infeasibleSinceMs: number | null
  readonly roomSinceMs: number | null
  /** Raises that had to be taken back, since the last plan: each doubles the time that room must last. */
  readonly failedRaises: number
  /** The last change was a raise. */
  readonly raised: boolean
}

/** Patience where the readings themselves are above the cap, ms. */
const SURE_MS = 200
/** Longest patience, in first ones. */
const MAX_DOUBLINGS = 6

/**
 * The second, slow actuator: where the lowest SM clock does not keep the cap, the memory clock goes down a state, and comes back
 * up to where the plan wants it once there is room again for long enough. On a board with one memory clock it does
 * nothing. A state machine without clocks or I/O.
 */
export class MemoryClockControl {
  /** Ascending. */
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

  /** A new plan wants this memory clock, and has put it in force. */
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
