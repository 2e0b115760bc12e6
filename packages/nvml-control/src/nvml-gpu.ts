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
  /** The board type, e.g. from a platform file. Default: what NVML and this release know of the board. */
  readonly spec?: GpuSpec
  /**
   * Who changes the board: the node service, this process (which takes root), or `auto`: the service where one has this board, this
   * process where not. Default `auto`.
   */
  readonly access?: 'auto' | 'service' | 'direct'
  /** Default: `$PCTODL_SERVICE_SOCKET`, or `/run/pctodl/pctodld.sock`. */
  readonly serviceSocket?: string
  /** Default: real time. */
  readonly clock?: Clock
}

/** Who changes a board, and why it is not the other. */
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
   * One reading, taken before this returns. A field that cannot be read is null; `failedReads` says why.
   *
   * @throws NvmlError where nothing of the board can be read any more, e.g. `GPU_LOST`
   */
  async sample(): Promise<Telemetry> {
    return this.#reader.read()
  }

  /** Why fields of the last sample are null, by call. What the board does not have is `NOT_SUPPORTED`. */
  failedReads(): ReadonlyMap<NvmlCallName, NvmlError> {
    return this.#reader.failures()
  }

  /**
   * The right to change it, from the node service or taken here, as `access` says.
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

  /** The lease that the node service holds for us by `acquire`; null where there is none, or not any more. */
  get serviceLease(): ServiceLease | null {
    return this.#serviceLease?.isHeld ? this.#serviceLease : null
  }

  /** The same, taken by this process whatever there is on the node. @throws LeaseHeldError, RestoreError; PctodlError `LEASE_FOLDER` */
  acquireDirectly(options: LeaseOptions = {}): Promise<NvmlLease> {
    const { device, spec, nvml } = this
    const board = { device, spec, clock: this.#clock, libraryPath: nvml.libraryPath }
    return acquireLease(board, { ...this.#options, ...options })
  }
}

const asked: BoardAccess = { kind: 'direct', reason: 'it was asked for' }

/**
 * Open a board by index, UUID or PCI bus id. What a killed program left changed on this machine's boards is put right
 * first; where that fails, opening goes on, and `acquire` of that board will tell.
 *
 * @throws NvmlNotFoundError without NVML
 * @throws NvmlError where there is no such board, or the driver does not answer
 * @throws UnknownBoardError where its type is not known and no `spec` is given
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
 * Who will change a board for this process.
 *
 * @throws ServiceError where the service is asked for and there is none
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

/** Who only looks needs no folder for leases; who wants a lease is told then. */
function unlessNoLeaseFolder(error: unknown): void {
  if (!(error instanceof PctodlError && error.code === 'LEASE_FOLDER')) throw error
}

/** Every board of this machine, with what identifies it. A lost one is there with its error. */
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
 * Put right what killed programs of this user left behind. Every program of the family that changes boards itself does so at its
 * start.
 *
 * @throws PctodlError `LEASE_FOLDER` where the folder of leases is not private
 */
export async function putRight(nvml: Nvml, options: LeaseOptions = {}): Promise<RestoreOutcome[]> {
  return restoreLeftovers(new LeaseFolder(options.leaseFolder), (uuid) => nvml.device(uuid))
}

/**
 * Hold the lease of a board while `work` runs; the board is put back however it ends.
 *
 * @throws what `work` throws
 * @throws RestoreError where the board could not be put back; where `work` has failed before, with that as its cause
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
