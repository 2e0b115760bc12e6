/** `throttled`: the firmware holds the clock down; `lost`: the board runs another clock without giving a reason. */
export type ClockHypothesis = 'asked' | 'throttled' | 'lost'
/** `doubted`: another meter reads more power. */
export type SensorHypothesis = 'good' | 'late' | 'frozen' | 'missing' | 'doubted'

/**
 * - `tracking`: moving, or not yet sure
 * - `settled`: the highest clock that holds the cap, unchanged for three seconds, with no reading above the cap
 * - `infeasible`: readings of the lowest clock are above the cap
 * - `blind`: no usable reading
 */
export type ClockStatus = 'tracking' | 'settled' | 'infeasible' | 'blind'

export interface ClockAction {
  /** The clock to lock, MHz; always a supported one. */
  readonly smClockMhz: number
  readonly status: ClockStatus
  /** Estimated minus modelled power at this clock, W. */
  readonly biasW: number
  /** Estimated power at this clock with all tenants running, W. */
  readonly estimatedPowerW: number
  /** Power up to which a clock may be chosen, W. */
  readonly targetPowerW: number
  /** The board does not run the requested clock: its firmware throttles it, or the request was lost. */
  readonly clockMismatch: boolean
  /** Most probable state of the board. */
  readonly seen: BoardSeen
}

/** The most probable hypothesis of each kind, and the correction by which a disagreeing meter lowered the target. */
export interface BoardSeen {
  readonly clock: ClockHypothesis
  readonly sensor: SensorHypothesis
  /** Estimated delay of the readings beyond their averaging, ms. */
  readonly delayMs: number
  /** Factor by which the power reading is too low according to another meter; 1 where none disagrees. */
  readonly correction: number
}
