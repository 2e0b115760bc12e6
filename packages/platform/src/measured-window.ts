import type { Tenant } from './configuration.js'

/** A completed measuring window, which is the same for all tenants. Quantities without a reading are null. */
export interface MeasuredWindow {
  /** Number of the window, from 1. */
  readonly iteration: number
  readonly startMs: number
  readonly endMs: number
  readonly powerCapW: number
  readonly powerAverageW: number | null
  readonly powerMaxW: number | null
  /** Measured mean clocks, MHz. */
  readonly smClockMhz: number | null
  readonly memClockMhz: number | null
  readonly smUtilPercent: number | null
  readonly memUtilPercent: number | null
  /** Throughput of all tenants, samples/s. */
  readonly throughput: number
  /** Samples completed in the window, including those of processes that ended in it. */
  readonly samples: number
  readonly tenants: readonly { readonly tenant: Tenant }[]
  /** Locked clocks, MHz; null if the firmware chooses the clock. */
  readonly applied: { readonly smClockMhz: number | null; readonly memClockMhz: number | null }
  /** Whether tenants were restarted in the window. Its throughput then does not represent the configuration. */
  readonly reconfigured: boolean
}
