/** What a controller remembers of its own doing. */
export interface ClockMemory {
  started: boolean
  plantChanged: boolean
  timeMs: number
  /** Of the state that is asked for. */
  index: number
  /** The cap that was last fed forward, W. */
  plannedCapW: number
  /** When: a cap or tenants were new then. */
  plannedMs: number
  changedMs: number
  /** The board's own limit holds the cap. */
  held: boolean
  /** Index of the highest state that there was work for in the last step; absent where none was named. */
  ceiling?: number
}

/** Before the first step. */
export function newClockMemory(): ClockMemory {
  return {
    started: false,
    plantChanged: false,
    timeMs: 0,
    index: 0,
    plannedCapW: 0,
    plannedMs: 0,
    changedMs: 0,
    held: false,
  }
}
