import { type GpuSpec, InvalidInputError, PctodlError } from '@pctodl/platform'
import type { BoardChange, FoundState } from '../control/board-change.js'
import { BoardLease } from '../lease/board-lease.js'
import { leaseReleased } from '../lease/lease-errors.js'
import { ServiceClient, type ServiceClientOptions } from './service-client.js'
import type { ServiceRequestBody, ServiceResults } from './service-protocol.js'

export interface ServedLeaseOptions extends ServiceClientOptions {
  /** The lease ends if its holder sends no request, such as `verify`, for this time, ms. Default: never. */
  readonly silenceMs?: number
}

/** A lease of a board or a MIG instance that the node service has granted, and the connection that keeps it alive. */
export class ServedLease {
  readonly #subject: string
  readonly #client: ServiceClient
  #ended: PctodlError | undefined
  #released: Promise<void> | undefined

  /** @param subject name of the board or MIG instance in error messages */
  protected constructor(
    readonly uuid: string,
    subject: string,
    client: ServiceClient,
    readonly found: FoundState,
  ) {
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

  /** Starts an MPS daemon for processes of this user. It ends with the lease. */
  startMps(defaultPercent?: number): Promise<ServiceResults['mps-start']> {
    return this.request({ type: 'mps-start', board: this.uuid, defaultPercent })
  }

  /** @param graceMs time that MPS clients have to exit, 0 to 60,000 ms */
  stopMps(graceMs: number): Promise<ServiceResults['mps-stop']> {
    return this.request({ type: 'mps-stop', board: this.uuid, graceMs })
  }

  /** @throws ServiceError `MPS_NOT_A_CLIENT`, `MPS_WRONG_BOARD` */
  async verifyMpsClient(pid: number): Promise<void> {
    await this.request({ type: 'mps-verify', board: this.uuid, pid })
  }

  request<Body extends ServiceRequestBody>(body: Body): Promise<ServiceResults[Body['type']]> {
    if (this.#ended) return Promise.reject(this.#ended)
    if (this.#released) return Promise.reject(leaseReleased(this.#subject))
    return this.#client.request(body)
  }

  /** Idempotent. @throws ServiceError `RESTORE_FAILED` if the board could not be restored; the service tries again */
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

/**
 * A lease of one MIG instance. During the lease, only this program's processes may run on the instance. Clocks, power
 * limit and modes apply to the whole board: to set them, the program must also hold a lease of the board
 * (`ServiceLease`). Different programs cannot lease a board and its instances at the same time.
 */
export class InstanceLease extends ServedLease {
  /** @throws InvalidInputError; ServiceError `NO_SERVICE`, `NOT_ALLOWED`, `LEASE_HELD`, `NO_SUCH_BOARD` */
  static async acquire(uuid: string, options: ServiceClientOptions = {}): Promise<InstanceLease> {
    if (!uuid.startsWith('MIG-'))
      throw new InvalidInputError('uuid', uuid, 'the UUID of a MIG instance (MIG-...), as `nvidia-smi -L` prints it')
    return (await InstanceLease.take(uuid, `MIG instance ${uuid}`, options)) as InstanceLease
  }

  /** Environment variables with which a process can use only this instance. */
  get environment(): { readonly CUDA_VISIBLE_DEVICES: string } {
    return { CUDA_VISIBLE_DEVICES: this.uuid }
  }
}

/** A lease of a board that the node service holds until the connection closes, e.g. because this process ends. */
export class ServiceLease extends BoardLease {
  readonly path = 'service'
  readonly uuid: string
  readonly found: FoundState
  readonly #served: ServedLease
  readonly startMps: ServedLease['startMps']
  readonly stopMps: ServedLease['stopMps']
  readonly verifyMpsClient: ServedLease['verifyMpsClient']

  private constructor(spec: GpuSpec, served: ServedLease) {
    super(spec)
    this.#served = served
    this.uuid = served.uuid
    this.found = served.found
    this.startMps = served.startMps.bind(served)
    this.stopMps = served.stopMps.bind(served)
    this.verifyMpsClient = served.verifyMpsClient.bind(served)
  }

  /** @throws ServiceError `NO_SERVICE`, `NOT_ALLOWED`, `LEASE_HELD`, `NO_SUCH_BOARD`, `RESTORE_FAILED`, ... */
  static async acquire(
    { uuid, subject, spec }: { readonly uuid: string; readonly subject: string; readonly spec: GpuSpec },
    options: ServedLeaseOptions = {},
  ): Promise<ServiceLease> {
    return new ServiceLease(spec, await ServedLease.take(uuid, subject, options))
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
