import type { GpuSpec, Service, Tenant } from '@pctodl/platform'

/** Tenants and memory clock for services, chosen before anything is measured. */
export interface ServicesStart {
  readonly tenants: readonly Tenant[]
  readonly memClockMhz: number
  /** At which they keep the cap when all of them are busy. */
  readonly smClockMhz: number
  /** The clock is locked there instead of being left to the board. Default false. */
  readonly locked?: boolean
}

/** Chooses them. @throws what the planner behind it throws */
export type ServicesStartPlanner = (services: readonly Service[], powerCapW: number) => ServicesStart

/** What every opponent for services is given. */
export interface ServicesBaselineOptions {
  readonly spec: GpuSpec
  /** Those that are there at the start. */
  readonly services: readonly Service[]
  /** Tenants, batches and clocks to start with, and again where other services are to be served. */
  readonly plan: ServicesStartPlanner
}
