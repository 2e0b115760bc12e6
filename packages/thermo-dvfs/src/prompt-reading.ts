import { INSTANT_WINDOW_MS } from './power-history.js'
import { LONGEST_LAG_MS } from './reading-lag.js'

/** Still readings that are kept: their mean is what a move sets out from. */
const STILL = 8
const LEAST_STILL = 4
/** The clock must have rested for so long before a move, ms: else an earlier one could be what shows now. */
const RESTED_MS = LONGEST_LAG_MS + 200
/** The same beyond a lateness that is believed in, ms: what was moved earlier has shown, if that is true. */
const RESTED_BEYOND_MS = 1400
/** Moves of less than this share of the cap drown in the noise of an instant reading; firmware may trim half of one away. */
const LEAST_SHIFT = 0.06
/** Share of the shift, as far as a window can hold it by then, and share of the cap that a reading must show. */
const SHOWN = 0.6
const LEAST_SHOWN = 0.03
/** How many in a row must. */
const IN_A_ROW = 3
/**
 * The same where a lateness is believed in: two instant ones, for after two that are too high the clock goes down again. One average is
 * enough, which scatters little.
 */
const REFUTING_IN_A_ROW = 2
/** A reading that shows a move later than this is not prompt, ms. */
const PROMPT_MS = 450
/** The same where a lateness is believed in, ms: some true ones are hardly longer. */
const REFUTING_MS = 250
/** Powers by the model that differ by less are of one clock, relative. */
const SAME = 0.005

export interface PromptReadingState {
  modelW: number
  /** Since when the clock rests, ms. */
  restsMs: number
  stillW: number[]
  /** The last move of the clock, while it is awaited in the readings. */
  move: { sinceMs: number; fromW: number; fromModelW: number; shown: number } | null
}

/** A reading, and what it should follow. */
export interface FollowedReading {
  readonly timeMs: number
  /** W; null where none came. */
  readonly readingW: number | null
  /** That it is the mean of. */
  readonly windowMs: number
  /** The model's power at the clock that the board runs, W. */
  readonly modelW: number
  /** Board watts per model watt, as far as known. */
  readonly slope: number
  readonly capW: number
  /** How late readings are believed to be; 0 where they are not, or nobody knows. */
  readonly lagMs: number
}

/** What a move has told of the readings: that they show it at once, or that they are as late as they are believed to be. */
export type Shown = 'at-once' | 'late'

/**
 * Whether instant readings show a move of the clock at once: then they are not late, and nothing has to wait for the two seconds
 * that they could be.
 */
export class PromptReading {
  readonly state: PromptReadingState

  constructor(state?: PromptReadingState) {
    this.state = state ?? { modelW: 0, restsMs: 0, stillW: [], move: null }
  }

  /** @returns null where this reading completes no judgement of a move */
  observe({ timeMs, readingW, windowMs, modelW, slope, capW, lagMs }: FollowedReading): Shown | null {
    const s = this.state
    if (Math.abs(modelW - s.modelW) > SAME * s.modelW) {
      const restedMs = lagMs === 0 ? RESTED_MS : Math.min(RESTED_MS, lagMs + RESTED_BEYOND_MS)
      const rested = s.stillW.length >= LEAST_STILL && timeMs - s.restsMs >= restedMs
      const tells = rested && Math.abs(slope * (modelW - s.modelW)) >= LEAST_SHIFT * capW
      // Firmware that trims a clock at once, because it holds the board at its limit, makes no other move of it.
      const goesOn = lagMs > 0 && s.move !== null
      if (!goesOn) {
        const fromW = s.stillW.reduce((sum, powerW) => sum + powerW, 0) / s.stillW.length
        s.move = tells ? { sinceMs: timeMs, fromW, fromModelW: s.modelW, shown: 0 } : null
      }
      this.#rest(timeMs)
      s.modelW = modelW
      // The clock and the reading of one sample may not be of one moment: only what is too early at any rate counts already.
      if (!goesOn && (!tells || lagMs === 0)) return null
    }
    if (readingW === null) return null
    if (s.move === null) {
      s.stillW.push(readingW)
      if (s.stillW.length > STILL) s.stillW.shift()
      return null
    }
    const { sinceMs, fromW, fromModelW } = s.move
    const shiftW = slope * (modelW - fromModelW)
    const shownW = readingW - fromW
    const share = Math.min(1, (timeMs - sinceMs + INSTANT_WINDOW_MS) / windowMs)
    const enough = Math.abs(shiftW) >= (LEAST_SHIFT / 2) * capW && Math.abs(shownW) >= LEAST_SHOWN * capW
    const shown = enough && shownW / (share * shiftW) >= SHOWN
    s.move.shown = shown ? s.move.shown + 1 : 0
    const prompt = s.move.shown >= inARow(lagMs, windowMs)
    const over = timeMs - sinceMs > (lagMs === 0 ? PROMPT_MS : REFUTING_MS)
    if (prompt || over) s.move = null
    if (prompt) return 'at-once'
    // What firmware has trimmed to less would not show in any case.
    return over && lagMs > 0 && !shown && Math.abs(shiftW) >= LEAST_SHIFT * capW ? 'late' : null
  }

  /** Tenants start, stop or pause: what the readings do is not the clock's doing. */
  abandon(timeMs: number): void {
    this.#rest(timeMs)
    this.state.move = null
  }

  #rest(timeMs: number): void {
    this.state.restsMs = timeMs
    this.state.stillW = []
  }
}

function inARow(lagMs: number, windowMs: number): number {
  if (lagMs === 0) return IN_A_ROW
  return windowMs > INSTANT_WINDOW_MS ? 1 : REFUTING_IN_A_ROW
}
