import type { Tenant } from '@pctodl/platform'
import type { PendingRequest } from './pending-request.js'
import type { Instance, ServiceDispatcher } from './service-dispatcher.js'

/** A tenant's process, as the requests that it answers see it. */
export interface BatchRunner {
  readonly tenant: Tenant
  /** Begin a batch of this size for so many requests; its owner tells the instance when it is done, or that it never will be. */
  run(requests: number, batchSize: number): void
}

/** One of the instances that answer a service's requests: a batch at a time, for the service that it has now. */
export class ServingInstance implements Instance {
  readonly #runner: BatchRunner
  #dispatcher: ServiceDispatcher | undefined
  /** In the batch in flight, and whose they are: another service's, for a while, after a change. */
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

  /** Whether it answers requests of a service, or is in the middle of a batch of them. */
  serves(dispatcher: ServiceDispatcher): boolean {
    return this.#dispatcher === dispatcher || this.#batch?.of === dispatcher
  }

  /** Answer the requests of this service from the next batch on; undefined: of none. */
  serve(dispatcher: ServiceDispatcher | undefined): void {
    if (dispatcher !== this.#dispatcher) {
      this.#dispatcher?.leave(this)
      this.#dispatcher = dispatcher
    }
    dispatcher?.join(this)
  }

  /** Its present service's requests. */
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

  /** The process is gone, or as good as that. */
  lost(reason: string): void {
    const batch = this.#batch
    this.#batch = undefined
    this.serve(undefined)
    batch?.of.lost(batch.requests, reason)
  }
}
