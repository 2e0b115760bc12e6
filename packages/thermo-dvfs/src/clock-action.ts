/** `part`: some tenants load, wait or stand still. */
export type LoadHypothesis = 'full' | 'part' | 'idle'
/** `throttled`: the firmware holds the clock down; `lost`: the board runs another clock and gives no reason. */
export type ClockHypothesis = 'asked' | 'throttled' | 'lost'
/** `doubted`: another meter has more than the readings. */
export type SensorHypothesis = 'good' | 'late' | 'frozen' | 'missing' | 'doubted'

/**
 * - `tracking`: moving, or not yet sure;
 * - `settled`: the highest clock that keeps the cap, unchanged for three seconds, and no reading above the cap;
 * - `infeasible`: at the lowest clock and still above the cap;
 * - `blind`: no usable reading.
 */
export type ClockStatus = 'tracking' | 'settled' | 'infeasible' | 'blind'

export interface ClockAction {
  /** The clock to lock, MHz: always a supported one. */
  readonly smClockMhz: number
  readonly status: ClockStatus
  /** Estimated minus modelled power at that clock, W. */
  readonly biasW: number
  /** Estimated power at that clock once the tenants run, W. */
  readonly estimatedPowerW: number
  /** Power that a clock may be raised to, W. */
  readonly targetPowerW: number
  /** The board has not been running the requested clock: throttled by its firmware, or the request was lost. */
  readonly clockMismatch: boolean
  /** What the board is most probably doing. */
  readonly seen: BoardSeen
}

/** The most probable hypothesis of each kind, and the share of the cap by which a disagreeing witness lowered the target. */
export interface BoardSeen {
  readonly load: LoadHypothesis
  readonly clock: ClockHypothesis
  readonly sensor: SensorHypothesis
  /** How late what is read may be, beyond its averaging, ms. */
  readonly delayMs: number
  /** The power reading is too low by this factor, as another witness of it has it; 1 where none disagrees. */
  readonly correction: number
  /** The board runs its lowest clock, and readings of it are above the cap. */
  readonly excess: boolean
}
