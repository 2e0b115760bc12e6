/**
 * One reading of the board, and what the caller knows of its tenants. A quantity that was not read is null or absent.
 */
export interface ClockObservation {
  /** Monotonic, ms. */
  readonly timeMs: number
  readonly powerCapW: number
  /** The plain power reading, W; null where none arrived. */
  readonly powerAverageW: number | null
  /** The instant reading, W; null where the board has none or none arrived. */
  readonly powerInstantW: number | null
  /** Measured SM clock, MHz. */
  readonly smClockMhz: number | null
  /** Tenants are being started or restarted, so the board draws less than its configuration will. */
  readonly loading: boolean
  /** The board refused the last requested clock and runs another one. Default false. */
  readonly refused?: boolean
  /** The board's energy counter, J: an independent measure of its power. */
  readonly energyJ?: number | null
  /** Power of this board by another meter, W, such as one in its supply or at its socket. */
  readonly meterPowerW?: number | null
  /** The board reports an idle GPU as the reason for its clock. */
  readonly idle?: boolean
  /** The firmware reports that it holds the clock down for power or heat. */
  readonly throttled?: boolean
  /** Share of the tenants that complete batches, 0..1. */
  readonly activeShare?: number | null
  /** Time after which a stalled tenant is missing from `activeShare`, ms. Default 1000. */
  readonly stallNoticeMs?: number
  /** The highest useful clock, MHz: below what the cap allows where a lighter load needs less. */
  readonly ceilingMhz?: number
  /** The board's own power limit in force, W. At or below the cap, the firmware acts as the fast inner loop. */
  readonly powerLimitW?: number | null
}
