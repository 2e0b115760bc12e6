import type { Service, Tenant } from '@pctodl/platform'

/** Tenants and clocks for services at given rates. */
export interface ServicesPlan {
  /** Each tenant names the service whose requests it answers. */
  readonly tenants: readonly Tenant[]
  readonly smClockMhz: number
  readonly memClockMhz: number
  /** Requests/s answered in time, in the order of the services, if not all can be served. */
  readonly admittedPerS?: readonly number[]
}

export interface PlannedLoad {
  readonly services: readonly Service[]
  /** Requests/s, in the order of the services, each above 0. */
  readonly ratesPerS: readonly number[]
  readonly powerCapW: number
}

/**
 * Finds tenants for services: `max-load` maximises a common factor on the rates; `max-value`, if not all requests can
 * be served, also chooses the admitted rates.
 *
 * @returns undefined where no tenants serve them at all under the cap
 */
export type ServicesPlanner = (load: PlannedLoad, objective: 'max-load' | 'max-value') => ServicesPlan | undefined
