import type { Tenant } from '@pctodl/platform'
import type { PendingRequest } from './pending-request.js'
import type { Instance, ServiceDispatcher } from './service-dispatcher.js'

/** The part of a worker process that the request desk uses. */
export interface BatchRunner {
  readonly tenant: Tenant
  /**
   * Starts a batch of `batchSize` samples for the given number of requests. When the batch has ended, the owner of the
   * process calls `answered` or `lost` of the instance.
   */
  run(requests: number, batchSize: number): void
}

/** A process that answers a service's requests, one batch at a time. It can change its service. */
export class ServingInstance implements Instance {
  readonly #runner: BatchRunner
  #dispatcher: ServiceDispatcher | undefined
  /**
   * The requests of the running batch and the dispatcher of their service. After a change of service, this may still be
   * the dispatcher of the previous service.
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

  /** Whether the instance is assigned to this dispatcher's service, or runs a batch of it. */
  serves(dispatcher: ServiceDispatcher): boolean {
    return this.#dispatcher === dispatcher || this.#batch?.of === dispatcher
  }

  /** Assigns the instance to a service from its next batch on; undefined assigns it to none. */
  serve(dispatcher: ServiceDispatcher | undefined): void {
    if (dispatcher !== this.#dispatcher) {
      this.#dispatcher?.leave(this)
      this.#dispatcher = dispatcher
    }
    dispatcher?.join(this)
  }

  /** Starts a batch of requests of the current service. */
  begin(requests: readonly PendingRequest[], batchSize: number): void {
    this.#batch = { of: this.#dispatcher!, requests }
    this.#runner.run(requests.length, batchSize)
  }

  /**
   * To be called when the running batch is done.
   * @returns whether there was a batch
   */
  answered(): boolean {
    const batch = this.#batch
    this.#batch = undefined
    batch?.of.answered(batch.requests)
    this.#dispatcher?.begin()
    return batch !== undefined
  }

  /** To be called when the process has ended or is about to end. */
  lost(reason: string): void {
    const batch = this.#batch
    this.#batch = undefined
    this.serve(undefined)
    batch?.of.lost(batch.requests, reason)
  }
}
