import type { WindowObservation } from '@pctodl/scheduler'

/** Mean power above the cap times this factor counts as exceeding the cap. */
const EXCEEDED = 1.02
const WINDOWS_TO_STEP_DOWN = 5
const WINDOWS_PER_CANDIDATE = 5

interface Trial {
  readonly memClockMhz: number
  windows: number
  throughputSum: number
  powerSumW: number
}

/**
 * Searches for a better memory clock on a board that keeps its cap by its own power limit. After five consecutive
 * windows above the cap, it lowers the memory clock by one state. After fewer such windows, it tries every performance
 * state up to the present one, for five windows each. It then uses the state with the highest throughput among those
 * within the cap.
 */
export class MemoryClockSearch {
  readonly #statesMhz: readonly number[]
  #memClockMhz: number
  #exceeded = 0
  #trials: Trial[] = []
  #trial = 0

  /** @param performanceMemClocksMhz memory clocks to search, in any order */
  constructor(performanceMemClocksMhz: readonly number[], memClockMhz: number) {
    this.#statesMhz = [...performanceMemClocksMhz].sort((a, b) => a - b)
    this.#memClockMhz = memClockMhz
  }

  /** Starts again from the memory clock of a new cap or plan. */
  restart(memClockMhz: number): void {
    this.#memClockMhz = memClockMhz
    this.#exceeded = 0
    this.#trials = []
  }

  /**
   * Processes one window.
   *
   * @returns the memory clock to lock for the next window, MHz
   */
  next(window: WindowObservation): number {
    const { powerAverageW, reconfigured } = window
    const candidates = this.#statesMhz.filter((state) => state <= this.#memClockMhz)
    const unusable = powerAverageW === null || !(powerAverageW > 0) || reconfigured
    if (unusable || (candidates.length < 2 && this.#trials.length === 0)) return this.#memClockMhz
    if (this.#trials.length > 0) return this.#explore(window, powerAverageW)

    if (powerAverageW > EXCEEDED * window.powerCapW) {
      if (++this.#exceeded === WINDOWS_TO_STEP_DOWN) this.restart(candidates.at(-2)!)
    } else if (this.#exceeded > 0) {
      this.#exceeded = 0
      this.#trials = candidates.map((memClockMhz) => ({ memClockMhz, windows: 0, throughputSum: 0, powerSumW: 0 }))
      this.#trial = 0
      this.#memClockMhz = candidates[0]!
    }
    return this.#memClockMhz
  }

  #explore(window: WindowObservation, powerAverageW: number): number {
    const trial = this.#trials[this.#trial]!
    trial.windows++
    trial.throughputSum += window.throughput
    trial.powerSumW += powerAverageW
    if (trial.windows < WINDOWS_PER_CANDIDATE) return this.#memClockMhz
    const following = this.#trials[++this.#trial]
    if (following) this.#memClockMhz = following.memClockMhz
    else this.restart(best(this.#trials, EXCEEDED * window.powerCapW * WINDOWS_PER_CANDIDATE).memClockMhz)
    return this.#memClockMhz
  }
}

/** Returns the trial with the highest throughput within the cap; if there is none, the one with the lowest power. */
function best(trials: readonly Trial[], powerBoundW: number): Trial {
  const within = trials.filter((trial) => trial.powerSumW <= powerBoundW)
  if (within.length === 0) return trials.reduce((least, trial) => (trial.powerSumW < least.powerSumW ? trial : least))
  return within.reduce((most, trial) => (trial.throughputSum > most.throughputSum ? trial : most))
}
