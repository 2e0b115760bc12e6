import type { Tenant } from '@pctodl/platform'
import type { PendingRequest } from './pending-request.js'
import type { Instance, ServiceDispatcher } from './service-dispatcher.js'

/** The part of a tenant's process that answers requests. */
export interface BatchRunner {
  readonly tenant: Tenant
  /** Begin a batch of this size for this many requests. The owner tells the instance when it is done or lost. */
  run(requests: number, batchSize: number): void
}

/** One of the instances that answer a service's requests, a batch at a time; its service may change. */
export class ServingInstance implements Instance {
  readonly #runner: BatchRunner
  #dispatcher: ServiceDispatcher | undefined
  /**
   * Requests in the batch in flight, and their dispatcher, which after a change may still be that of the previous
   * service.
   */
  #batch: { readonly of: ServiceDispatcher; readonly requests: readonly PendingRequest[] } | undefined

  constructor(runner: BatchRunner) {
    this.#runner = runner
  }

  get tenant(): Tenant {
    return this.#runner.tenant
  }

  get busy(): boolean {
    return this.#batch !== undefined
  }

  /** Whether it answers requests of a service, or has a batch of them in flight. */
  serves(dispatcher: ServiceDispatcher): boolean {
    return this.#dispatcher === dispatcher || this.#batch?.of === dispatcher
  }

  /** Answer the requests of this service from the next batch on; undefined for none. */
  serve(dispatcher: ServiceDispatcher | undefined): void {
    if (dispatcher !== this.#dispatcher) {
      this.#dispatcher?.leave(this)
      this.#dispatcher = dispatcher
    }
    dispatcher?.join(this)
  }

  /** Begin a batch of requests of the present service. */
  begin(requests: readonly PendingRequest[], batchSize: number): void {
    this.#batch = { of: this.#dispatcher!, requests }
    this.#runner.run(requests.length, batchSize)
  }

  /** The batch in flight is done. @returns whether there was one */
  answered(): boolean {
    const batch = this.#batch
    this.#batch = undefined
    batch?.of.answered(batch.requests)
    this.#dispatcher?.begin()
    return batch !== undefined
  }

  /** The process has ended or is about to. */
  lost(reason: string): void {
    const batch = this.#batch
    this.#batch = undefined
    this.serve(undefined)
    batch?.of.lost(batch.requests, reason)
  }
}
