/**
 * - `tracking`: moving, or not yet sure;
 * - `settled`: the highest clock that keeps the cap, unchanged for three seconds, and no reading above the cap;
 * - `infeasible`: readings of the minimum clock are above the cap;
 * - `blind`: no usable reading.
 */
export type ClockStatus = 'tracking' | 'settled' | 'infeasible' | 'blind'
export type LoadSeen = 'full' | 'part' | 'idle'
export type ClockSeen = 'asked' | 'throttled' | 'lost'
export type SensorSeen = 'good' | 'late' | 'frozen' | 'missing' | 'doubted'

export interface ClockAction {
  /** The clock to lock, MHz: one of the table. */
  readonly smClockMhz: number
  readonly status: ClockStatus
  /** Estimated minus modelled power at that clock, W. */
  readonly biasW: number
  /** Estimated power at that clock at full load, W. */
  readonly estimatedPowerW: number
  /** Power that a clock may be raised to, W. */
  readonly targetPowerW: number
  /** The board has not been running the requested clock: throttled by its firmware, or the request was lost. */
  readonly clockMismatch: boolean
  readonly seen: BoardSeen
}

/** What the board appears to be doing. */
export interface BoardSeen {
  readonly load: LoadSeen
  readonly clock: ClockSeen
  readonly sensor: SensorSeen
  /** Delay of the power readings beyond their window, ms. */
  readonly latenessMs: number
  /** Factor by which another meter has more than the readings; 1 where none disagrees. */
  readonly correction: number
  /** The board runs its minimum clock, and readings of it are above the cap. */
  readonly excess: boolean
}
