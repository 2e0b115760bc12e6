/** Why the firmware holds the SM clock below the requested clock. */
export type ClocksEventReason = 'gpu-idle' | 'sw-power-cap' | 'sw-thermal-slowdown' | 'hw-slowdown'

/** One reading of a board. A field that the board lacks or that could not be read is null, never 0. */
export interface Telemetry {
  /** Monotonic time of the reading on the `Clock` in use, ms. */
  readonly timeMs: number
  /** The default power reading, W. It is a running average over one second on Ampere (except GA100) and later GPUs. */
  readonly powerAverageW: number | null
  /** The instantaneous power reading, W, if driver and board provide it. */
  readonly powerInstantW: number | null
  /** Energy since the driver was loaded, J. The counter's resolution is 1 mJ. */
  readonly energyJ: number | null
  readonly smClockMhz: number | null
  readonly memClockMhz: number | null
  /** Percentage of the last sample period in which at least one kernel was running. */
  readonly smUtilPercent: number | null
  /** Percentage of the last sample period in which DRAM was read or written. */
  readonly memUtilPercent: number | null
  readonly temperatureC: number | null
  readonly memoryUsedBytes: number | null
  readonly clocksEventReasons: readonly ClocksEventReason[]
}
