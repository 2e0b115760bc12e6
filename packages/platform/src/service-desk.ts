import type { Service } from './service.js'
import type { ServiceCounters } from './service-counters.js'

/** Takes in the requests of a board's services and hands them to the tenants that serve them. */
export interface ServiceDesk {
  /** One entry per service, in the order in which they came. */
  counters(): readonly ServiceCounters[]
  /**
   * Let in a share of the requests of a service from now on, evenly, and shed the others.
   *
   * @param share 0..1
   * @throws InvalidInputError for another share, or a service that is not served
   */
  admit(service: string, share: number): void
  /**
   * Serve these services from now on: new ones begin, known ones have another objective, weight or batch, and those that are
   * absent end.
   *
   * @throws PctodlError `IN_USE` where tenants serve one that is absent
   */
  serve(services: readonly Service[]): void
}
