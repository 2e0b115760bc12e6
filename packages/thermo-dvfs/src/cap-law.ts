import { AVERAGE_WINDOW_MS } from './power-history.js'
import { SecondMean, type SecondMeanState } from './second-mean.js'

/** A reading of the last second looks back so far, with the time a request and a sample take. */
export const LOOK_BACK_MS: number = AVERAGE_WINDOW_MS + 300
/** The same of the instant readings, smoothed. */
const INSTANT_LOOK_BACK_MS = 600
const LONG_AGO_MS = -1e9

export interface CapLawState {
  readonly second: SecondMeanState
  readonly memory: { loweredMs: number; powerW: number | null; knownMs: number }
}

export interface LawReadings {
  readonly timeMs: number
  /** Usable in this step, W. */
  readonly averageW: number | null
  readonly instantW: number | null
  /** The instant readings, smoothed over some tenths of a second, W. */
  readonly fastMeanW: number | null
  /** How late readings are known to be, ms. */
  readonly latenessMs: number
}

/**
 * The two laws that every answer is held to, whatever was concluded before:
 *
 * 1. A mean of the last second above the cap (by more than the guard) lowers the clock, unless it was lowered within the time
 *    that this mean looks back on, or is the lowest.
 * 2. Nothing is called settled while that mean is above the cap.
 *
 * The mean is the board's own average where it has one, and that of its instant readings where it has not.
 */
export class CapLaw {
  readonly #second: SecondMean
  readonly #memory: CapLawState['memory']

  constructor(state?: CapLawState) {
    this.#second = new SecondMean(state?.second)
    this.#memory = state?.memory ?? { loweredMs: LONG_AGO_MS, powerW: null, knownMs: LONG_AGO_MS }
  }

  get state(): CapLawState {
    return { second: this.#second.state, memory: this.#memory }
  }

  /** The mean of the last second, W; null where it was not read within that second. */
  get powerW(): number | null {
    return this.#memory.powerW
  }

  /** The mean of the instant readings of the last second, W; null where they do not reach back so far. */
  get instantSecondW(): number | null {
    return this.#second.powerW
  }

  observe({ timeMs, averageW, instantW }: LawReadings): void {
    const m = this.#memory
    if (instantW !== null) this.#second.add(timeMs, instantW)
    const powerW = averageW ?? (instantW === null ? null : this.#second.powerW)
    if (powerW !== null) {
      m.powerW = powerW
      m.knownMs = timeMs
    } else if (timeMs - m.knownMs > AVERAGE_WINDOW_MS) m.powerW = null
  }

  /**
   * What the clock must be lowered for now, W; 0 where the first law asks for nothing.
   *
   * @param boundW for the mean of the last second
   * @param instantBoundW for the smoothed instant readings, which scatter more
   */
  excessW(
    { timeMs, averageW, instantW, fastMeanW, latenessMs }: LawReadings,
    capW: number,
    boundW: number,
    instantBoundW: number,
  ): number {
    // What is read now may be as old as the readings are late; what was lowered since does not show in it yet.
    const sinceMs = timeMs - this.#memory.loweredMs - latenessMs
    const meanW = averageW === null && instantW === null ? null : this.#memory.powerW
    const instantMeanW = instantW === null ? 0 : (fastMeanW ?? 0)
    const meanIsAbove = sinceMs >= LOOK_BACK_MS && meanW !== null && meanW > boundW
    const instantIsAbove = sinceMs >= INSTANT_LOOK_BACK_MS && instantMeanW > instantBoundW
    // A mean of the last second still holds what was before; the instant one says what is now.
    return meanIsAbove || instantIsAbove ? Math.max(meanW ?? 0, instantMeanW) - capW : 0
  }

  /** The second law: whether the mean of the last second forbids to call anything settled. */
  unsettled(capW: number): boolean {
    return (this.#memory.powerW ?? 0) > capW
  }

  /** The clock is lowered now: what is read for a while is of before. */
  lowered(timeMs: number): void {
    this.#memory.loweredMs = timeMs
  }

  /** The clock is raised: an earlier lowering excuses nothing any more. */
  raised(): void {
    this.#memory.loweredMs = LONG_AGO_MS
  }
}
