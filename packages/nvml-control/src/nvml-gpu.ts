import {
  type Clock,
  type Gpu,
  type GpuInfo,
  type GpuSpec,
  PctodlError,
  systemClock,
  type Telemetry,
} from '@pctodl/platform'
import { type BoardFacts, boardFacts } from './describe/board-facts.js'
import { specOfBoard } from './describe/spec-of-board.js'
import { acquireLease, type LeaseOptions } from './lease/acquire-lease.js'
import type { BoardLease } from './lease/board-lease.js'
import { LeaseFolder } from './lease/lease-folder.js'
import type { NvmlLease } from './lease/nvml-lease.js'
import { RestoreError } from './lease/restore.js'
import { type RestoreOutcome, restoreLeftovers } from './lease/restore-leftovers.js'
import type { NvmlCallName } from './nvml/nvml-calls.js'
import type { NvmlDevice } from './nvml/nvml-device.js'
import type { NvmlError } from './nvml/nvml-error.js'
import { type LoadNvmlOptions, loadNvml, type Nvml } from './nvml/nvml-library.js'
import { TelemetryReader } from './nvml/telemetry-reader.js'
import { ServiceClient, type ServiceClientOptions } from './service/service-client.js'
import { ServiceLease } from './service/service-lease.js'

export interface OpenGpuOptions extends LoadNvmlOptions, LeaseOptions {
  /** The board type, e.g. from a platform file. Default: what NVML and this release know about the board. */
  readonly spec?: GpuSpec
  /**
   * Who changes the board: the node service, this process (needs root), or `auto`: the service if it manages this
   * board, else this process. Default `auto`.
   */
  readonly access?: 'auto' | 'service' | 'direct'
  /** Default: `$PCTODL_SERVICE_SOCKET`, or `/run/pctodl/pctodld.sock`. */
  readonly serviceSocket?: string
  /** Default: real time. */
  readonly clock?: Clock
}

/** Who changes a board, and why not the other one. */
export interface BoardAccess {
  readonly kind: 'service' | 'direct'
  readonly reason: string
}

/** One real GPU. */
export class NvmlGpu implements Gpu {
  readonly spec: GpuSpec
  readonly device: NvmlDevice
  readonly nvml: Nvml
  readonly access: BoardAccess
  readonly #options: OpenGpuOptions
  readonly #clock: Clock
  readonly #reader: TelemetryReader
  #serviceLease: ServiceLease | null = null

  constructor(
    nvml: Nvml,
    device: NvmlDevice,
    spec: GpuSpec,
    options: OpenGpuOptions = {},
    access: BoardAccess = asked,
  ) {
    this.nvml = nvml
    this.device = device
    this.spec = spec
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#reader = new TelemetryReader(device, this.#clock)
    this.access = access
  }

  /** @throws NvmlError */
  async info(): Promise<GpuInfo> {
    return {
      spec: this.spec,
      uuid: this.device.uuid,
      index: this.device.index,
      driverVersion: this.nvml.driverVersion,
      powerLimitW: this.device.powerLimitW(),
    }
  }

  /**
   * Take one reading. A field that cannot be read is null; `failedReads` gives the reason.
   *
   * @throws NvmlError if nothing of the board can be read any more, e.g. `GPU_LOST`
   */
  async sample(): Promise<Telemetry> {
    return this.#reader.read()
  }

  /** Why fields of the last sample are null, by call. A field that the board lacks is `NOT_SUPPORTED`. */
  failedReads(): ReadonlyMap<NvmlCallName, NvmlError> {
    return this.#reader.failures()
  }

  /**
   * Acquire a lease from the node service or in this process, depending on `access`.
   *
   * @throws LeaseHeldError, RestoreError; PctodlError `LEASE_FOLDER`; ServiceError `NOT_ALLOWED`, ...
   */
  async acquire(): Promise<BoardLease> {
    if (this.access.kind === 'direct') return this.acquireDirectly()
    const { device, spec } = this
    const { uuid, subject } = device
    this.#serviceLease = await ServiceLease.acquire({ uuid, subject, spec }, serviceOptions(this.#options))
    return this.#serviceLease
  }

  /** The lease that `acquire` obtained from the node service; null if there is none, or if it has ended. */
  get serviceLease(): ServiceLease | null {
    return this.#serviceLease?.isHeld ? this.#serviceLease : null
  }

  /**
   * Acquire a lease in this process, even if the node service is available.
   *
   * @throws LeaseHeldError, RestoreError; PctodlError `LEASE_FOLDER`
   */
  acquireDirectly(options: LeaseOptions = {}): Promise<NvmlLease> {
    const { device, spec, nvml } = this
    const board = { device, spec, clock: this.#clock, libraryPath: nvml.libraryPath }
    return acquireLease(board, { ...this.#options, ...options })
  }
}

const asked: BoardAccess = { kind: 'direct', reason: 'it was asked for' }

/**
 * Open a board by index, UUID or PCI bus id. First restores what killed programs left changed on this machine's boards.
 * If that fails, opening continues, and `acquire` of that board reports the failure.
 *
 * @throws NvmlNotFoundError without NVML
 * @throws NvmlError if there is no such board, or the driver does not answer
 * @throws UnknownBoardError if its type is unknown and no `spec` is given
 */
export async function openGpu(id: string | number = 0, options: OpenGpuOptions = {}): Promise<NvmlGpu> {
  const nvml = loadNvml(options)
  const device = nvml.device(id)
  const access = await boardAccess(device, options)
  if (access.kind === 'direct') await putRight(nvml, options).catch(unlessNoLeaseFolder)
  const spec = options.spec ?? specOfBoard(boardFacts(device))
  return new NvmlGpu(nvml, device, spec, options, access)
}

/**
 * Decide who changes a board for this process.
 *
 * @throws ServiceError if `access` is `service` and it cannot serve this board, or if connecting fails although it is
 *   there
 */
export async function boardAccess(device: NvmlDevice, options: OpenGpuOptions = {}): Promise<BoardAccess> {
  const { access = 'auto' } = options
  if (access === 'direct') return asked
  let client: ServiceClient
  try {
    client = await ServiceClient.open(serviceOptions(options))
  } catch (error) {
    if (access === 'service' || !(error instanceof PctodlError && error.code === 'NO_SERVICE')) throw error
    return { kind: 'direct', reason: error.message }
  }
  client.close()
  if (client.boards.includes(device.uuid)) return { kind: 'service', reason: 'the node service has this board' }
  const reason = `the node service has no board ${device.uuid}`
  if (access === 'service') throw new PctodlError('NO_SERVICE', reason)
  return { kind: 'direct', reason }
}

function serviceOptions({ serviceSocket }: OpenGpuOptions): ServiceClientOptions {
  return serviceSocket === undefined ? {} : { socket: serviceSocket }
}

/** Ignore an unusable lease folder: reading boards needs none, and `acquire` reports it. */
function unlessNoLeaseFolder(error: unknown): void {
  if (!(error instanceof PctodlError && error.code === 'LEASE_FOLDER')) throw error
}

/** Every board of this machine with its identity. A lost board is listed with its error. */
export function listGpus(
  options: LoadNvmlOptions = {},
): (BoardFacts | { readonly index: number; readonly error: unknown })[] {
  const nvml = loadNvml(options)
  return Array.from({ length: nvml.deviceCount }, (_, index) => {
    try {
      return boardFacts(nvml.deviceByIndex(index))
    } catch (error) {
      return { index, error }
    }
  })
}

/**
 * Restore what killed programs of this user left behind. Every program that changes boards calls this when it starts.
 *
 * @throws PctodlError `LEASE_FOLDER` if the lease folder is not private
 */
export async function putRight(nvml: Nvml, options: LeaseOptions = {}): Promise<RestoreOutcome[]> {
  return restoreLeftovers(new LeaseFolder(options.leaseFolder), (uuid) => nvml.device(uuid))
}

/**
 * Hold the lease of a board while `work` runs; the board is restored however `work` ends.
 *
 * @throws what `work` throws
 * @throws RestoreError if the board could not be restored; if `work` failed too, its error is the cause
 */
export async function withLease<T>(gpu: NvmlGpu, work: (lease: BoardLease) => Promise<T>): Promise<T> {
  const lease = await gpu.acquire()
  let result: T
  try {
    result = await work(lease)
  } catch (error) {
    await lease.release().catch((restoring: unknown) => {
      throw restoring instanceof RestoreError ? restoring.after(error) : restoring
    })
    throw error
  }
  await lease.release()
  return result
}
