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
