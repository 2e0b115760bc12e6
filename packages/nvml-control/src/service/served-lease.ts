import { PctodlError } from '@pctodl/platform'
import { leaseReleased } from '../lease/lease-errors.js'
import type { FoundState } from '../lease/lease-record.js'
import { ServiceClient, type ServiceClientOptions } from './service-client.js'
import type { LeaseReport, ServiceRequestBody, ServiceResults } from './service-protocol.js'

/** A lease that the node service has granted, and the connection that keeps it alive. */
export interface AcquiredLease {
  readonly client: ServiceClient
  readonly found: FoundState
}

export interface ServedLeaseOptions extends ServiceClientOptions {
  /**
   * The lease ends if its holder sends no request for this time, ms. `verify` counts as a request. Default: the lease
   * lasts until the connection closes.
   */
  readonly silenceMs?: number
}

/**
 * @param uuid UUID of a board or a MIG instance
 * @throws ServiceError `NO_SERVICE`, `NOT_ALLOWED`, `LEASE_HELD`, `NO_SUCH_BOARD`, `RESTORE_FAILED`, ...
 */
export async function acquireServed(
  uuid: string,
  { silenceMs, ...options }: ServedLeaseOptions,
): Promise<AcquiredLease> {
  const client = await ServiceClient.open(options)
  try {
    const { found } = await client.request({
      type: 'acquire',
      board: uuid,
      ...(silenceMs === undefined ? {} : { silenceMs }),
    })
    return { client, found }
  } catch (error) {
    client.close()
    throw error
  }
}

/** Base class of leases that the node service holds for this process, for boards and for MIG instances. */
export abstract class ServedLease {
  readonly uuid: string
  /** The board's settings at the start of the lease. */
  readonly found: FoundState
  readonly #subject: string
  readonly #client: ServiceClient
  #ended: PctodlError | undefined
  #released: Promise<void> | undefined

  /** @param subject name of the board or MIG instance in error messages */
  protected constructor(uuid: string, subject: string, { client, found }: AcquiredLease) {
    this.uuid = uuid
    this.found = found
    this.#subject = subject
    this.#client = client
    client.onLeaseEnded = (_, reason) => {
      this.#ended = new PctodlError('LEASE_RELEASED', `the node service has ended the lease on ${subject}: ${reason}`)
    }
  }

  /** Whether the lease is still held: this process has not released it, and the service has not ended it. */
  get isHeld(): boolean {
    return this.#ended === undefined && this.#released === undefined
  }

  /**
   * Start an MPS daemon on the leased board or instance, for processes of this user. The daemon ends with the lease.
   */
  startMps(defaultPercent?: number): Promise<ServiceResults['mps-start']> {
    return this.request({
      type: 'mps-start',
      board: this.uuid,
      ...(defaultPercent === undefined ? {} : { defaultPercent }),
    })
  }

  /**
   * Stops the MPS daemon.
   * @param graceMs time that MPS clients have to exit, 0 to 60,000 ms
   */
  stopMps(graceMs: number): Promise<ServiceResults['mps-stop']> {
    return this.request({ type: 'mps-stop', board: this.uuid, graceMs })
  }

  /**
   * Checks that a process is a client of the lease's MPS daemon.
   * @throws ServiceError `MPS_NOT_A_CLIENT`, `MPS_WRONG_BOARD`
   */
  async verifyMpsClient(pid: number): Promise<void> {
    await this.request({ type: 'mps-verify', board: this.uuid, pid })
  }

  /** Reports objectives and the values that were attained to the service, which exports them as metrics. */
  async report(report: LeaseReport): Promise<void> {
    await this.request({ type: 'report', board: this.uuid, ...report })
  }

  /**
   * Ends the lease. A second call does nothing.
   * @throws ServiceError `RESTORE_FAILED` if the board could not be restored; the service tries again
   */
  release(): Promise<void> {
    this.#released ??= this.#release()
    return this.#released
  }

  protected request<Body extends ServiceRequestBody>(body: Body): Promise<ServiceResults[Body['type']]> {
    if (this.#ended) return Promise.reject(this.#ended)
    if (this.#released) return Promise.reject(leaseReleased(this.#subject))
    return this.#client.request(body)
  }

  async #release(): Promise<void> {
    try {
      if (!this.#ended) await this.#client.request({ type: 'release', board: this.uuid })
    } finally {
      this.#client.close()
    }
  }
}
