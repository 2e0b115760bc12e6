/** One reading of the board, and what the caller knows of its tenants. What was not read is null or absent. */
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
  /** The board has refused the clock of the last answer and runs another one. Default false. */
  readonly refused?: boolean
  /** The board's energy counter, J: a second witness of its power. */
  readonly energyJ?: number | null
  /** Another meter's power of this board, W: in its supply, at its socket. */
  readonly meterPowerW?: number | null
  /** The board gives an idle GPU as the reason of its clock. */
  readonly idle?: boolean
  /** The firmware says that it holds the clock down, for power or heat. */
  readonly throttled?: boolean
  /** Share of the tenants that complete batches, 0..1. */
  readonly activeShare?: number | null
  /** Time after which a tenant that stands still is missed in `activeShare`, ms. Default 1000. */
  readonly stallNoticeMs?: number
  /** The highest clock that there is work for, MHz: below what the cap allows where a lighter load is served as well by less. */
  readonly ceilingMhz?: number
  /** The board's own power limit in force, W. At the cap or below it, the firmware is the fast inner loop. */
  readonly powerLimitW?: number | null
}
