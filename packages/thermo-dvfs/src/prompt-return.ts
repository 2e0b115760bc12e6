import { LONGEST_LAG_MS } from './reading-lag.js'

/** A return that shows in the readings later than this is not shown at once, ms. */
const PROMPT_MS = 350
/** So long before it nothing else may have changed, ms: else an earlier change could be what shows now. */
const RESTED_MS = LONGEST_LAG_MS + 200
/** Share of the cap that power must rise by: far beyond what readings scatter. */
const LEAST_RISE = 0.1

export interface PromptReturnState {
  /** Whether some tenants stood still when last heard of. */
  still: boolean
  /** When the clock or the load last changed, ms. */
  changedMs: number
  modelW: number
  /** The lowest reading while they stood still, W. */
  lowestW: number | null
  /** Since when a return is awaited in the readings, ms. */
  awaitedMs: number | null
}

/**
 * Whether readings show at once that tenants which stood still are back. Their counters say so with the first batch that
 * completes, which takes time: power that rises by then, or within a third of a second, is not late. This tells where a
 * load that pauses again and again leaves the clock no time to be moved and watched.
 */
export class PromptReturn {
  readonly state: PromptReturnState

  constructor(state?: PromptReturnState) {
    this.state = state ?? { still: false, changedMs: 0, modelW: 0, lowestW: null, awaitedMs: null }
  }

  /**
   * @param still some tenants complete nothing
   * @param readingW the newest reading, W; null where none came
   * @param modelW the model's power at the clock that the board runs, W
   * @returns whether a return was shown in time
   */
  observe(timeMs: number, still: boolean, readingW: number | null, modelW: number, capW: number): boolean {
    const s = this.state
    const returned = s.still && !still
    if (still && !s.still) s.lowestW = null
    if (still && readingW !== null) s.lowestW = Math.min(s.lowestW ?? readingW, readingW)
    if (returned && timeMs - s.changedMs >= RESTED_MS) s.awaitedMs = timeMs
    if (modelW !== s.modelW) s.awaitedMs = null
    if (returned || modelW !== s.modelW) s.changedMs = timeMs
    s.modelW = modelW
    s.still = still
    if (s.awaitedMs === null || s.lowestW === null || readingW === null) return false
    const shown = readingW - s.lowestW >= LEAST_RISE * capW
    if (shown || timeMs - s.awaitedMs > PROMPT_MS) s.awaitedMs = null
    return shown
  }
}
