import {
  assertServices,
  type Clock,
  InvalidInputError,
  PctodlError,
  reasonOf,
  type Service,
  type ServiceCounters,
  type ServiceDesk,
  systemClock,
  type Tenant,
} from '@pctodl/platform'
import type { Answer, PendingRequest } from './pending-request.js'
import { ServiceDispatcher } from './service-dispatcher.js'
import { assertTraffic, limitsOf, type ServiceTraffic, startTraffic } from './service-traffic.js'
import type { ServingInstance } from './serving-instance.js'

export interface RequestDeskOptions {
  /**
   * Returns the traffic of a service. Called once per service, when it is first served. Default: requests come only
   * through `ask`.
   */
  readonly trafficOf?: (service: Service) => ServiceTraffic
  /** Default: real time. */
  readonly clock?: Clock
}

export interface AskOptions {
  /**
   * Time at which the request was due, on the desk's clock, ms. Latency counts from this time, which must not be in the
   * future. Default: now.
   */
  readonly arrivedMs?: number
  /**
   * Time after its arrival at which the request is shed if it still waits, ms. Default: `shedAfterMs` of the service's
   * traffic.
   */
  readonly deadlineMs?: number
  /**
   * Cancels the request: the promise rejects with the signal's reason. A waiting request is shed; the answer to a
   * request in a running batch is dropped.
   */
  readonly signal?: AbortSignal
}

/** A timer may fire early by up to this time, so arrival times that are this far in the future are accepted, ms. */
const WOKEN_EARLY_MS = 10

interface OpenService {
  readonly dispatcher: ServiceDispatcher
  readonly traffic: AbortController
  /** The error thrown by the service's arrivals. */
  failure?: PctodlError
  /** Whether the error has been reported to the caller. */
  isFailureTold?: boolean
}

/**
 * Receives requests for services and dispatches them in batches to the processes of an `InferencePool`. For simulated
 * boards there is `SimulatedDesk` of `@pctodl/gpu-sim`.
 */
export class RequestDesk implements ServiceDesk {
  readonly #trafficOf: (service: Service) => ServiceTraffic
  readonly #clock: Clock
  readonly #open = new Map<string, OpenService>()
  readonly #instances = new Set<ServingInstance>()
  readonly #departed: ServiceDispatcher[] = []

  constructor({ trafficOf = () => ({}), clock = systemClock }: RequestDeskOptions = {}) {
    this.#trafficOf = trafficOf
    this.#clock = clock
  }

  /** Counters of the services that are not served any more. */
  get departed(): readonly ServiceCounters[] {
    return this.#departed.map((dispatcher) => dispatcher.counters())
  }

  /**
   * Counters of the services.
   * @throws PctodlError `ARRIVALS_FAILED` naming a service whose arrivals threw an error; no further requests of this
   *   service arrive
   */
  counters(): readonly ServiceCounters[] {
    return [...this.#open.values()].map((open) => {
      if (open.failure) throw told(open)
      return open.dispatcher.counters()
    })
  }

  admit(service: string, share: number): void {
    if (!(share >= 0 && share <= 1)) throw new InvalidInputError('share', share, 'a share from 0 to 1')
    this.#dispatcherOf('service', service).admitted = share
  }

  /**
   * Replaces the list of services. If it throws, nothing has changed.
   *
   * @throws InvalidInputError for invalid services, or for a known service with another network
   * @throws PctodlError `IN_USE` if tenants still serve a service that is to be removed; `ARRIVALS_FAILED` if the
   *   arrivals of such a service threw an error that no call has reported yet (the next call then removes the service)
   */
  serve(services: readonly Service[]): void {
    assertServices(services)
    for (const { name, model } of services) {
      const before = this.#open.get(name)?.dispatcher.service
      if (before && before.model !== model) {
        const expected = `'${before.model}': another network is another service`
        throw new InvalidInputError('service.model', model, expected)
      }
    }
    const leaving = [...this.#open].filter(([name]) => !services.some((service) => service.name === name))
    for (const [name, { dispatcher }] of leaving) {
      if ([...this.#instances].some((instance) => instance.serves(dispatcher))) {
        throw new PctodlError('IN_USE', `tenants serve ${name}; apply tenants without it first`)
      }
    }
    const coming = services.filter(({ name }) => !this.#open.has(name))
    const traffic = coming.map((service) => this.#trafficOf(service))
    traffic.forEach(assertTraffic)
    for (const [, open] of leaving) tell(open)
    for (const [name] of leaving) this.#end(name, 'its service has ended')
    for (const service of services) {
      const known = this.#open.get(service.name)?.dispatcher
      if (!known || known.service === service) continue
      known.service = service
      known.begin()
    }
    coming.forEach((service, i) => {
      this.#begin(service, traffic[i]!)
    })
  }

  /**
   * Sends a request to a service and waits for its outcome.
   *
   * @returns the outcome; for `shed` and `failed` with the reason
   * @throws InvalidInputError for a service that is not served, or invalid times; the signal's reason if the request
   *   was cancelled
   */
  async ask(service: string, { arrivedMs = this.#clock.now(), deadlineMs, signal }: AskOptions = {}): Promise<Answer> {
    const dispatcher = this.#dispatcherOf('service', service)
    if (!Number.isFinite(arrivedMs)) throw new InvalidInputError('arrivedMs', arrivedMs, 'a time of the clock, ms')
    // Requests are served in order of arrival, so one with a future arrival time would delay those behind it.
    const nowMs = this.#clock.now()
    if (arrivedMs > nowMs + WOKEN_EARLY_MS) {
      throw new InvalidInputError('arrivedMs', arrivedMs, `a time in the past; the desk's clock is at ${nowMs}`)
    }
    if (deadlineMs !== undefined && !(typeof deadlineMs === 'number' && deadlineMs > 0)) {
      throw new InvalidInputError('deadlineMs', deadlineMs, 'ms above 0')
    }
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted()
      let waiting: PendingRequest | undefined
      const onAbort = () => {
        reject(signal?.reason)
        if (waiting) dispatcher.callOff(waiting)
      }
      const decided = (answer: Answer) => {
        signal?.removeEventListener('abort', onAbort)
        resolve(answer)
      }
      signal?.addEventListener('abort', onAbort, { once: true })
      waiting = dispatcher.arrive({ arrivedMs, deadlineMs, decided })
    })
  }

  /**
   * Stops all arrivals and sheds waiting requests. Requests in running batches are still answered. A second call does
   * nothing.
   *
   * @throws PctodlError `ARRIVALS_FAILED`, after everything is closed, if the arrivals of a service threw an error that
   *   no call has reported yet
   */
  close(): void {
    const open = [...this.#open]
    for (const [name] of open) this.#end(name, 'the desk is closed')
    for (const [, each] of open) tell(each)
  }

  /**
   * Checks the services of tenants.
   * @throws InvalidInputError for a tenant whose service is not served or has another network
   */
  assertServes(tenants: readonly Tenant[]): void {
    tenants.forEach(({ service: name, model }, i) => {
      if (name === undefined) return
      const { service } = this.#dispatcherOf(`tenants[${i}].service`, name)
      if (service.model !== model) {
        throw new InvalidInputError(`tenants[${i}].model`, model, `'${service.model}', the network of ${name}`)
      }
    })
  }

  /** Makes an instance answer requests of its tenant's service, from its next batch on. */
  join(instance: ServingInstance): void {
    const name = instance.tenant.service
    this.#instances.add(instance)
    instance.serve(name === undefined ? undefined : this.#open.get(name)?.dispatcher)
  }

  /** Gives an instance no further batches. `lost` is called when its process has ended. */
  leave(instance: ServingInstance): void {
    instance.serve(undefined)
  }

  /**
   * To be called when an instance's process has ended. Another instance tries the requests of its running batch once
   * more.
   */
  lost(instance: ServingInstance, reason: string): void {
    this.#instances.delete(instance)
    instance.lost(reason)
  }

  #begin(service: Service, given: ServiceTraffic): void {
    const dispatcher = new ServiceDispatcher(service, limitsOf(given), this.#clock)
    const traffic = new AbortController()
    const open: OpenService = { dispatcher, traffic }
    this.#open.set(service.name, open)
    const onFailure = (cause: unknown) => {
      const why = reasonOf(cause)
      const message = `service ${service.name}: its arrivals threw, and no requests come any more: ${why}`
      open.failure = new PctodlError('ARRIVALS_FAILED', message, { cause })
    }
    startTraffic(given, (request) => dispatcher.arrive(request), this.#clock, traffic.signal, onFailure)
  }

  #end(name: string, reason: string): void {
    const { dispatcher, traffic } = this.#open.get(name)!
    traffic.abort()
    dispatcher.close(reason)
    this.#open.delete(name)
    this.#departed.push(dispatcher)
  }

  #dispatcherOf(field: string, name: string): ServiceDispatcher {
    const open = this.#open.get(name)
    if (open) return open.dispatcher
    const known = [...this.#open.keys()].join(', ')
    throw new InvalidInputError(field, name, known === '' ? 'a service; none is served' : `one of ${known}`)
  }
}

/**
 * Reports an error of a service's arrivals to the caller.
 * @throws that error, unless it has been reported before
 */
function tell(open: OpenService): void {
  if (open.failure && !open.isFailureTold) throw told(open)
}

function told(open: OpenService): PctodlError {
  open.isFailureTold = true
  return open.failure!
}
