import type { GpuSpec } from '@pctodl/platform'
import type { BoardChange } from '../control/board-change.js'
import { BoardLease } from '../lease/board-lease.js'
import type { FoundState } from '../lease/lease-record.js'
import { ServedLease, type ServedLeaseOptions } from './served-lease.js'

export interface ServedBoard {
  readonly uuid: string
  /** Name of the board in error messages. */
  readonly subject: string
  readonly spec: GpuSpec
}

/**
 * A lease of a board that the node service holds for this process. When the connection closes, for example because this
 * process ends, the service restores the board.
 */
export class ServiceLease extends BoardLease {
  readonly path = 'service'
  readonly #served: ServedLease
  readonly startMps: ServedLease['startMps']
  readonly stopMps: ServedLease['stopMps']
  readonly verifyMpsClient: ServedLease['verifyMpsClient']

  private constructor(spec: GpuSpec, served: ServedLease) {
    super(spec)
    this.#served = served
    this.startMps = served.startMps.bind(served)
    this.stopMps = served.stopMps.bind(served)
    this.verifyMpsClient = served.verifyMpsClient.bind(served)
  }

  /** @throws ServiceError `NO_SERVICE`, `NOT_ALLOWED`, `LEASE_HELD`, `NO_SUCH_BOARD`, `RESTORE_FAILED`, ... */
  static async acquire({ uuid, subject, spec }: ServedBoard, options: ServedLeaseOptions = {}): Promise<ServiceLease> {
    return new ServiceLease(spec, await ServedLease.take(uuid, subject, options))
  }

  get uuid(): string {
    return this.#served.uuid
  }

  get found(): FoundState {
    return this.#served.found
  }

  /** Whether the lease is still held: this process has not released it, and the service has not ended it. */
  get isHeld(): boolean {
    return this.#served.isHeld
  }

  async verify(): Promise<void> {
    await this.#served.request({ type: 'verify', board: this.uuid })
  }

  release(): Promise<void> {
    return this.#served.release()
  }

  protected async perform(change: BoardChange): Promise<void> {
    await this.#served.request({ type: 'change', board: this.uuid, change })
  }
}
