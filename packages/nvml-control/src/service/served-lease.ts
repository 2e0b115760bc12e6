import { PctodlError } from '@pctodl/platform'
import { leaseReleased } from '../lease/lease-errors.js'
import type { FoundState } from '../lease/lease-record.js'
import { ServiceClient, type ServiceClientOptions } from './service-client.js'
import type { ServiceRequestBody, ServiceResults } from './service-protocol.js'

export interface ServedLeaseOptions extends ServiceClientOptions {
  /**
   * The lease ends if its holder sends no request for this time, ms. `verify` counts as a request. Default: the lease
   * lasts until the connection closes.
   */
  readonly silenceMs?: number
}

/** A lease of a board or a MIG instance that the node service has granted, and the connection that keeps it alive. */
export class ServedLease {
  readonly uuid: string
  /** The board's settings at the start of the lease. */
  readonly found: FoundState
  readonly #subject: string
  readonly #client: ServiceClient
  #ended: PctodlError | undefined
  #released: Promise<void> | undefined

  /** @param subject name of the board or MIG instance in error messages */
  protected constructor(uuid: string, subject: string, client: ServiceClient, found: FoundState) {
    this.uuid = uuid
    this.found = found
    this.#subject = subject
    this.#client = client
    client.onLeaseEnded = (_, reason) => {
      this.#ended = new PctodlError('LEASE_RELEASED', `the node service has ended the lease on ${subject}: ${reason}`)
    }
  }

  /** @throws ServiceError `NO_SERVICE`, `NOT_ALLOWED`, `LEASE_HELD`, `NO_SUCH_BOARD`, `RESTORE_FAILED`, ... */
  static async take(
    uuid: string,
    subject: string,
    { silenceMs, ...options }: ServedLeaseOptions = {},
  ): Promise<ServedLease> {
    const client = await ServiceClient.open(options)
    try {
      const { found } = await client.request({ type: 'acquire', board: uuid, silenceMs })
      return new this(uuid, subject, client, found)
    } catch (error) {
      client.close()
      throw error
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
    return this.request({ type: 'mps-start', board: this.uuid, defaultPercent })
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

  request<Body extends ServiceRequestBody>(body: Body): Promise<ServiceResults[Body['type']]> {
    if (this.#ended) return Promise.reject(this.#ended)
    if (this.#released) return Promise.reject(leaseReleased(this.#subject))
    return this.#client.request(body)
  }

  /**
   * Ends the lease. A second call does nothing.
   * @throws ServiceError `RESTORE_FAILED` if the board could not be restored; the service tries again
   */
  release(): Promise<void> {
    this.#released ??= this.#release()
    return this.#released
  }

  async #release(): Promise<void> {
    try {
      if (!this.#ended) await this.#client.request({ type: 'release', board: this.uuid })
    } finally {
      this.#client.close()
    }
  }
}
