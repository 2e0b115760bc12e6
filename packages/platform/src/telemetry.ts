/** Why the firmware holds the SM clock below the requested one. */
export type ClocksEventReason = 'gpu-idle' | 'sw-power-cap' | 'sw-thermal-slowdown' | 'hw-slowdown'

/** One reading of a board. A field that is unavailable or could not be read is null, never 0. */
export interface Telemetry {
  /** Monotonic time of the reading, ms, on the clock in use. */
  readonly timeMs: number
  /** The default power reading, W: a one-second running average on Ampere (except GA100) and later. */
  readonly powerAverageW: number | null
  /** The instantaneous reading, W, where driver and board provide it. */
  readonly powerInstantW: number | null
  /** Energy since the driver was loaded, J (counter of 1 mJ resolution). */
  readonly energyJ: number | null
  readonly smClockMhz: number | null
  readonly memClockMhz: number | null
  /** Share of the last sample period in which any kernel was resident, 0..100. */
  readonly smUtilPercent: number | null
  /** Share of the last sample period in which DRAM was read or written, 0..100. */
  readonly memUtilPercent: number | null
  readonly temperatureC: number | null
  readonly memoryUsedBytes: number | null
  readonly clocksEventReasons: readonly ClocksEventReason[]
}
