import type { Tenant } from '@pctodl/platform'
import type { PendingRequest } from './pending-request.js'
import type { Instance, ServiceDispatcher } from './service-dispatcher.js'

/** The part of a tenant's process that answers requests. */
export interface BatchRunner {
  readonly tenant: Tenant
  /**
   * Starts a batch of `batchSize` for the given number of requests. The owner calls `answered` or `lost` on the
   * instance afterwards.
   */
  run(requests: number, batchSize: number): void
}

/** One of the instances that answer a service's requests, one batch at a time. Its service may change. */
export class ServingInstance implements Instance {
  readonly #runner: BatchRunner
  #dispatcher: ServiceDispatcher | undefined
  /**
   * Requests of the running batch, with their dispatcher. After a change of service this is still the previous one's.
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

  /** True if the instance is assigned to this dispatcher or has a running batch from it. */
  serves(dispatcher: ServiceDispatcher): boolean {
    return this.#dispatcher === dispatcher || this.#batch?.of === dispatcher
  }

  /** Assigns the instance to a service from its next batch on; undefined assigns it to no service. */
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

  /** Reports that the running batch is done. @returns true if there was one */
  answered(): boolean {
    const batch = this.#batch
    this.#batch = undefined
    batch?.of.answered(batch.requests)
    this.#dispatcher?.begin()
    return batch !== undefined
  }

  /** Reports that the process has ended or is about to end. */
  lost(reason: string): void {
    const batch = this.#batch
    this.#batch = undefined
    this.serve(undefined)
    batch?.of.lost(batch.requests, reason)
  }
}
