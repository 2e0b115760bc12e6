import { LONGEST_LAG_MS } from './reading-lag.js'

/** Still readings that are kept: their mean is what a move sets out from. */
const STILL = 8
const LEAST_STILL = 4
/** The clock must have rested for so long before a move, ms: else an earlier one could be what shows now. */
const RESTED_MS = LONGEST_LAG_MS + 200
/** Moves of less than this share of the cap drown in the noise of an instant reading. */
const LEAST_SHIFT = 0.06
/** Share of the shift that a reading must show, and how many in a row must. */
const SHOWN = 0.6
const IN_A_ROW = 3
/** A reading that shows a move later than this is not prompt, ms. */
const PROMPT_MS = 450
/** Powers by the model that differ by less are of one clock, relative. */
const SAME = 0.005

export interface PromptReadingState {
  modelW: number
  /** Since when the clock rests, ms. */
  restsMs: number
  stillW: number[]
  /** The last move of the clock, while it is awaited in the readings. */
  move: { sinceMs: number; fromW: number; shiftW: number; shown: number } | null
}

/**
 * Whether instant readings show a move of the clock at once: then they are not late, and nothing has to wait for the two seconds
 * that they could be.
 */
export class PromptReading {
  readonly state: PromptReadingState

  constructor(state?: PromptReadingState) {
    this.state = state ?? { modelW: 0, restsMs: 0, stillW: [], move: null }
  }

  /**
   * @param modelW the model's power at the clock that the board runs, W
   * @param slope board watts per model watt, as far as known
   * @returns whether a move was shown in time
   */
  observe(timeMs: number, readingW: number | null, modelW: number, slope: number, capW: number): boolean {
    const s = this.state
    if (Math.abs(modelW - s.modelW) > SAME * s.modelW) {
      const shiftW = slope * (modelW - s.modelW)
      const rested = s.stillW.length >= LEAST_STILL && timeMs - s.restsMs >= RESTED_MS
      const tells = rested && Math.abs(shiftW) >= LEAST_SHIFT * capW
      const fromW = s.stillW.reduce((sum, powerW) => sum + powerW, 0) / s.stillW.length
      s.move = tells ? { sinceMs: timeMs, fromW, shiftW, shown: 0 } : null
      this.#rest(timeMs)
      s.modelW = modelW
      return false
    }
    if (readingW === null) return false
    if (s.move === null) {
      s.stillW.push(readingW)
      if (s.stillW.length > STILL) s.stillW.shift()
      return false
    }
    s.move.shown = (readingW - s.move.fromW) / s.move.shiftW >= SHOWN ? s.move.shown + 1 : 0
    const prompt = s.move.shown >= IN_A_ROW
    if (prompt || timeMs - s.move.sinceMs > PROMPT_MS) s.move = null
    return prompt
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
