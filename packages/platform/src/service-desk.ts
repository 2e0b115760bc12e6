import type { Service } from './service.js'
import type { ServiceCounters } from './service-counters.js'

/** Accepts the requests of a board's services and dispatches them to the tenants that serve them. */
export interface ServiceDesk {
  /** One entry per service, in the order in which they were added. */
  counters(): readonly ServiceCounters[]
  /**
   * From now on, admits an evenly spread share of a service's requests and sheds the others.
   *
   * @param share 0..1
   * @throws InvalidInputError for an invalid share or an unknown service
   */
  admit(service: string, share: number): void
  /**
   * Replaces the list of services. New services begin; existing ones get a new objective, weight or batch size;
   * services missing from the list end.
   *
   * @throws PctodlError `IN_USE` if tenants still serve a missing service
   */
  serve(services: readonly Service[]): void
}
