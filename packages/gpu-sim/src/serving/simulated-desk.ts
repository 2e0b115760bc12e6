import { assertServices, type Service, type ServiceCounters, type ServiceDesk } from '@pctodl/platform'
import type { SimulatedGpu } from '../simulated-gpu.js'
import type { ServedService } from './served-service.js'
import type { ServingEngineOptions } from './serving-engine.js'
import type { SimulatedServices } from './simulated-services.js'

/** Accepts services on a simulated board. The caller defines the arrivals of each service's requests. */
export class SimulatedDesk implements ServiceDesk {
  readonly #gpu: SimulatedGpu
  readonly #trafficOf: (service: Service) => Omit<ServedService, 'service'>
  readonly #options: ServingEngineOptions
  #served: SimulatedServices | undefined
  #services: readonly Service[] = []
  /** Last counters of services that have ended. */
  readonly departed: ServiceCounters[] = []

  /** @param trafficOf returns the arrivals of a service; called once per service, before its first request */
  constructor(
    gpu: SimulatedGpu,
    trafficOf: (service: Service) => Omit<ServedService, 'service'>,
    options: ServingEngineOptions = {},
  ) {
    this.#gpu = gpu
    this.#trafficOf = trafficOf
    this.#options = options
  }

  counters(): readonly ServiceCounters[] {
    return this.#served?.counters() ?? []
  }

  admit(service: string, share: number): void {
    this.#served?.admit(service, share)
  }

  serve(services: readonly Service[]): void {
    assertServices(services)
    const served = this.#served
    if (served === undefined) {
      this.#served = this.#gpu.serve(
        services.map((service) => this.#withTraffic(service)),
        this.#options,
      )
    } else {
      const before = this.#services
      for (const service of services) {
        const known = before.find(({ name }) => name === service.name)
        if (known === undefined) served.add(this.#withTraffic(service))
        else if (known !== service) served.change(service)
      }
      for (const { name } of before) {
        if (!services.some((service) => service.name === name)) this.departed.push(served.remove(name))
      }
    }
    this.#services = services
  }

  #withTraffic(service: Service): ServedService {
    return { service, ...this.#trafficOf(service) }
  }
}
