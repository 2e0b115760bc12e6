import type { Service, Tenant } from '@pctodl/platform'

/** Tenants and clocks for services at given rates. */
export interface ServicesPlan {
  /** Each names the service whose requests it answers. */
  readonly tenants: readonly Tenant[]
  readonly smClockMhz: number
  readonly memClockMhz: number
  /** Requests/s that they answer in time, in the order of the services; where not all can be served. */
  readonly admittedPerS?: readonly number[]
}

export interface PlannedLoad {
  readonly services: readonly Service[]
  /** Requests/s, in the order of the services, each above 0. */
  readonly ratesPerS: readonly number[]
  readonly powerCapW: number
}

/**
 * Finds tenants for services: `max-load` for the largest common factor on the rates, `max-value` where not all of them can be
 * served, with what is to be let in of each.
 *
 * @returns undefined where no tenants serve them at all under the cap
 */
export type ServicesPlanner = (load: PlannedLoad, objective: 'max-load' | 'max-value') => ServicesPlan | undefined
