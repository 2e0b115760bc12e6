/** What one step's readings can teach: the usable ones, laid over the time that they are of. */
export interface Lesson {
  readonly timeMs: number
  /** Since the step before, ms. */
  readonly durationMs: number
  readonly capW: number
  /** End of the time that the readings are of, ms. */
  readonly endMs: number
  /** A one-second average whose whole second is known, W; null where there is none. */
  readonly averageW: number | null
  /** An instant reading of a clock that is known, W; null where there is none. */
  readonly instantW: number | null
  /** An instant reading while the clock may have moved, W; null where there is none or `instantW` is known. */
  readonly unsteadyW: number | null
  /** Tenants start, or have just started: the board draws less than it will. */
  readonly quiet: boolean
  /** The board's own limit holds the cap: its firmware may have moved the clock because of this very power. */
  readonly held: boolean
}
