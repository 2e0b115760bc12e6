import type { Service } from './service.js'
import type { ServiceCounters } from './service-counters.js'

/** Accepts the requests of a board's services and dispatches them to the tenants that serve them. */
export interface ServiceDesk {
  /** Counters of each service, in the order in which the services were added. */
  counters(): readonly ServiceCounters[]
  /**
   * From now on, admits a fraction of a service's requests, evenly spaced, and sheds the others.
   *
   * @param share fraction to admit, 0..1
   * @throws InvalidInputError for an invalid fraction or an unknown service
   */
  admit(service: string, share: number): void
  /**
   * Replaces the list of services. New services begin, existing ones get a new objective, weight or batch size, and
   * services that are not in the list end.
   *
   * @throws PctodlError `IN_USE` if tenants still serve a service that is not in the list
   */
  serve(services: readonly Service[]): void
}
