/**
 * One reading of the board, and what the caller knows about its tenants. A quantity that was not read is null or
 * absent.
 */
export interface ClockObservation {
  /** Monotonic time, ms. */
  readonly timeMs: number
  readonly powerCapW: number
  /** The plain power reading, W; null if none arrived. */
  readonly powerAverageW: number | null
  /** The instant power reading, W; null if the board has none or none arrived. */
  readonly powerInstantW: number | null
  /** Measured SM clock, MHz. */
  readonly smClockMhz: number | null
  /** True while tenants are being started or restarted, so that the board draws less than its configuration will. */
  readonly loading: boolean
  /** True if the board refused the last requested clock and runs another one. Default false. */
  readonly refused?: boolean
  /** Reading of the board's energy counter, J: an independent measurement of the power. */
  readonly energyJ?: number | null
  /** Power of this board by another meter, W, such as a meter in its supply or at its socket. */
  readonly meterPowerW?: number | null
  /** True if the board gives an idle GPU as the reason for its clock. */
  readonly idle?: boolean
  /** True if the firmware reports that it holds the clock down because of power or temperature. */
  readonly throttled?: boolean
  /** Fraction of the tenants that complete batches, 0..1. */
  readonly activeShare?: number | null
  /** Time after which `activeShare` no longer counts a stalled tenant, ms. Default 1000. */
  readonly stallNoticeMs?: number
  /** The highest useful clock, MHz. It may be below the clock that the cap allows, if a lighter load needs less. */
  readonly ceilingMhz?: number
  /**
   * The board's own power limit in force, W. If it is at or below the cap, the firmware acts as the fast inner loop.
   */
  readonly powerLimitW?: number | null
}

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
