import type { Tenant } from './configuration.js'

/** What a measuring window of a run found. */
export interface MeasuredWindow {
  /** 1-based. */
  readonly iteration: number
  readonly startMs: number
  readonly endMs: number
  readonly powerCapW: number
  readonly powerAverageW: number | null
  readonly powerMaxW: number | null
  /** Measured means. */
  readonly smClockMhz: number | null
  readonly memClockMhz: number | null
  readonly smUtilPercent: number | null
  readonly memUtilPercent: number | null
  /** Samples/s over all tenants. */
  readonly throughput: number
  /** Samples completed in the window, including those of processes that ended in it. */
  readonly samples: number
  readonly tenants: readonly { readonly tenant: Tenant }[]
  /** Locked clocks, MHz; null if the firmware chooses. */
  readonly applied: { readonly smClockMhz: number | null; readonly memClockMhz: number | null }
  /** Whether tenants were restarted in the window, so that its throughput is not the configuration's. */
  readonly reconfigured: boolean
}
