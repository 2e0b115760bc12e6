/**
 * State of the SM clock. `asked`: the board runs the requested clock; `throttled`: the firmware holds the clock down;
 * `lost`: the board runs another clock without giving a reason.
 */
export type ClockHypothesis = 'asked' | 'throttled' | 'lost'
/** State of the power sensor. `late`: readings are delayed; `doubted`: another meter reads a different power. */
export type SensorHypothesis = 'good' | 'late' | 'frozen' | 'missing' | 'doubted'

/**
 * - `tracking`: the clock is moving, or the controller is not yet sure
 * - `settled`: the highest clock that holds the cap, unchanged for three seconds, with no one-second mean above the cap
 * - `infeasible`: readings at the lowest clock are above the cap
 * - `blind`: there is no usable reading
 */
export type ClockStatus = 'tracking' | 'settled' | 'infeasible' | 'blind'

export interface ClockAction {
  /** The clock to lock, MHz; always a supported clock. */
  readonly smClockMhz: number
  readonly status: ClockStatus
  /** Estimated minus modelled power at this clock, W. */
  readonly biasW: number
  /** Estimated power at this clock with all tenants running, W. */
  readonly estimatedPowerW: number
  /** Highest estimated power at which a clock may be chosen, W. */
  readonly targetPowerW: number
  /** True if the board does not run the requested clock: its firmware throttles it, or the request was lost. */
  readonly clockMismatch: boolean
  /** Most probable state of the board. */
  readonly seen: BoardSeen
}

/**
 * The most probable state of the clock and of the sensor, and the correction that lowers the target while another meter
 * reads more power.
 */
export interface BoardSeen {
  readonly clock: ClockHypothesis
  readonly sensor: SensorHypothesis
  /** Estimated delay of the power readings, in addition to the delay that averaging causes, ms. */
  readonly delayMs: number
  /** Factor by which another meter reads more power than the sensor; 1 if no meter disagrees. */
  readonly correction: number
}
