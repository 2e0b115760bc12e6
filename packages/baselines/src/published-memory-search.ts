import type { WindowObservation } from '@pctodl/scheduler'

const EXCEEDED = 1.02
const WINDOWS_TO_STEP_DOWN = 5
/** Number of windows for each candidate. It is one more than the published documentation says. */
const WINDOWS_PER_CANDIDATE = 6
/**
 * Exploration starts only from memory clocks of at least this, MHz. It tries the states from `LOWEST_CANDIDATE_MHZ` up.
 */
const EXPLORE_FROM_MHZ = 6000
const LOWEST_CANDIDATE_MHZ = 5001

/**
 * directcap's search for the memory clock, exactly as published. It counts windows above the cap even if they are not
 * consecutive. It uses each state for six windows, and scores it by the last of them. It does not switch to the first
 * state before scoring it. It chooses the state with the highest throughput, whatever its power is.
 */
export class PublishedMemorySearch {
  readonly #statesMhz: readonly number[]
  #memClockMhz: number
  #exceeded = 0
  #candidates: readonly number[] = []
  #candidate = 0
  #windows = 0
  #scores: number[] = []

  /** @param statesMhz memory clocks of the board, any order */
  constructor(statesMhz: readonly number[], memClockMhz: number) {
    this.#statesMhz = [...statesMhz].sort((a, b) => a - b)
    this.#memClockMhz = memClockMhz
  }

  /**
   * Processes one window.
   *
   * @returns the memory clock to lock for the next window, MHz
   */
  next({ powerAverageW, powerCapW, throughput }: WindowObservation): number {
    if (this.#candidates.length > 0) this.#explore(throughput)
    else if ((powerAverageW ?? 0) > EXCEEDED * powerCapW) this.#exceed()
    else {
      if (this.#exceeded > 0 && this.#memClockMhz >= EXPLORE_FROM_MHZ && this.#statesMhz.length > 1)
        this.#beginExploring()
      this.#exceeded = 0
    }
    return this.#memClockMhz
  }

  #exceed(): void {
    if (++this.#exceeded < WINDOWS_TO_STEP_DOWN) return
    this.#exceeded = 0
    const index = this.#statesMhz.indexOf(this.#memClockMhz)
    this.#memClockMhz = this.#statesMhz[Math.max(0, index - 1)]!
  }

  #beginExploring(): void {
    this.#candidates = this.#statesMhz.filter((state) => state >= LOWEST_CANDIDATE_MHZ && state <= this.#memClockMhz)
    this.#candidate = 0
    this.#windows = 0
    this.#scores = []
  }

  #explore(throughput: number): void {
    if (++this.#windows < WINDOWS_PER_CANDIDATE) return
    this.#windows = 0
    this.#scores.push(throughput)
    const following = this.#candidates[++this.#candidate]
    if (following !== undefined) {
      this.#memClockMhz = following
      return
    }
    this.#memClockMhz = this.#candidates[this.#scores.indexOf(Math.max(...this.#scores))]!
    this.#candidates = []
  }
}
