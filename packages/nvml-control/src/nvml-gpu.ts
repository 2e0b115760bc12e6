import { given } from '@pctodl/command-line'
import { type Gpu, type GpuInfo, type GpuSpec, PctodlError, type Telemetry } from '@pctodl/platform'
import { type BoardFacts, boardFacts } from './describe/board-facts.js'
import { specOfBoard } from './describe/spec-of-board.js'
import type { BoardLease } from './lease/board-lease.js'
import { LeaseFolder } from './lease/lease-folder.js'
import { type LeaseOptions, NvmlLease } from './lease/nvml-lease.js'
import { describeOutcome, RestoreError, type RestoreOutcome, restoreBoard } from './lease/restore.js'
import type { NvmlDevice } from './nvml/nvml-device.js'
import type { NvmlError } from './nvml/nvml-error.js'
import { type LoadNvmlOptions, loadNvml, type Nvml } from './nvml/nvml-library.js'
import { type FailedReads, readTelemetry } from './nvml/telemetry.js'
import { ServiceLease } from './service/served-lease.js'
import { ServiceClient } from './service/service-client.js'

export interface OpenGpuOptions extends LoadNvmlOptions, LeaseOptions {
  /** Board type, for example from a platform file. Default: derived from what NVML reports and this release's data. */
  readonly spec?: GpuSpec
  /**
   * Which process changes the board: `service`, the node service; `direct`, this process, which needs root; `auto`, the
   * service if it manages this board, otherwise this process. Default `auto`.
   */
  readonly access?: 'auto' | 'service' | 'direct'
  /** Socket of the node service. Default: `$PCTODL_SERVICE_SOCKET`, or `/run/pctodl/pctodld.sock`. */
  readonly serviceSocket?: string
  /** Called with messages about boards that killed programs left changed. */
  readonly onMessage?: (message: string) => void
}

export interface BoardAccess {
  readonly kind: 'service' | 'direct'
  readonly reason: string
}

/** One real GPU. */
export class NvmlGpu implements Gpu {
  readonly spec: GpuSpec
  readonly #options: OpenGpuOptions
  readonly #failed: FailedReads = new Map()
  #serviceLease: ServiceLease | null = null

  /** @throws UnknownBoardError if the board type is unknown and `options.spec` is not given */
  constructor(
    readonly nvml: Nvml,
    readonly device: NvmlDevice,
    options: OpenGpuOptions = {},
    readonly access: BoardAccess = asked,
  ) {
    this.spec = options.spec ?? specOfBoard(boardFacts(device))
    this.#options = options
  }

  /** @throws NvmlError */
  async info(): Promise<GpuInfo> {
    const { spec, device, nvml } = this
    const { uuid, index } = device
    return { spec, uuid, index, driverVersion: nvml.driverVersion, powerLimitW: device.powerLimitW() }
  }

  /**
   * Reads the board. A field that cannot be read is null, and `failedReads` returns the error.
   * @throws NvmlError such as `GPU_LOST`
   */
  async sample(): Promise<Telemetry> {
    return readTelemetry(this.device, this.#failed)
  }

  /** Returns the errors of the fields that are null in the last sample, by NVML call. */
  failedReads(): ReadonlyMap<string, NvmlError> {
    return this.#failed
  }

  /** @throws LeaseHeldError, RestoreError; PctodlError `LEASE_FOLDER`; ServiceError `NOT_ALLOWED`, ... */
  async acquire(): Promise<BoardLease> {
    if (this.access.kind === 'direct') return this.acquireDirectly()
    const { device, spec } = this
    const { uuid, subject } = device
    const socket = given({ socket: this.#options.serviceSocket })
    this.#serviceLease = await ServiceLease.acquire({ uuid, subject, spec }, socket)
    return this.#serviceLease
  }

  /** The lease that `acquire` obtained from the node service; null if there is none or it has ended. */
  get serviceLease(): ServiceLease | null {
    return this.#serviceLease?.isHeld ? this.#serviceLease : null
  }

  /** Acquires a lease in this process, even if the node service is available. */
  acquireDirectly(options: LeaseOptions = {}): Promise<NvmlLease> {
    return NvmlLease.acquire(this, { ...this.#options, ...options })
  }
}

const asked: BoardAccess = { kind: 'direct', reason: 'it was asked for' }

/**
 * Opens a board by index, UUID or PCI bus id. First restores the boards of this machine that killed programs left
 * changed. If that fails, the board is opened all the same, and `acquire` reports the failure.
 * @throws NvmlNotFoundError, NvmlError; UnknownBoardError if the board type is unknown and `spec` is not given
 */
export async function openGpu(id: string | number = 0, options: OpenGpuOptions = {}): Promise<NvmlGpu> {
  const nvml = loadNvml(options)
  const device = nvml.device(id)
  const access = await boardAccess(device, options)
  if (access.kind === 'direct') await putRightFirst(nvml, options)
  return new NvmlGpu(nvml, device, options, access)
}

/** @throws ServiceError if `access` is `service` and the service does not manage this board, or if connecting fails */
async function boardAccess(
  { uuid }: NvmlDevice,
  { access = 'auto', serviceSocket }: OpenGpuOptions,
): Promise<BoardAccess> {
  if (access === 'direct') return asked
  try {
    const client = await ServiceClient.open(given({ socket: serviceSocket }))
    client.close()
    if (client.boards.includes(uuid)) return { kind: 'service', reason: 'the node service has this board' }
    throw new PctodlError('NO_SERVICE', `the node service has no board ${uuid}`)
  } catch (error) {
    if (access === 'service' || !(error instanceof PctodlError && error.code === 'NO_SERVICE')) throw error
    return { kind: 'direct', reason: error.message }
  }
}

/** Like `putRight`, with messages. An unusable lease folder is only reported, because reading boards needs none. */
export async function putRightFirst(nvml: Nvml, { onMessage, ...options }: OpenGpuOptions): Promise<void> {
  try {
    for (const outcome of await putRight(nvml, options)) {
      const { outcome: result } = outcome
      if (result === 'restored' || result === 'failed') onMessage?.(describeOutcome(outcome))
    }
  } catch (error) {
    if (!(error instanceof PctodlError && error.code === 'LEASE_FOLDER')) throw error
    onMessage?.(error.message)
  }
}

/** Returns all boards of this machine with their identities. A lost board is listed with its error. */
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
 * Restores the boards that this user's killed programs left changed. Every program that changes boards calls this when
 * it starts. Boards in use are skipped.
 * @throws PctodlError `LEASE_FOLDER` if the lease folder is not private
 */
export async function putRight(nvml: Nvml, options: LeaseOptions = {}): Promise<RestoreOutcome[]> {
  const folder = new LeaseFolder(options.leaseFolder)
  const outcomes: (RestoreOutcome | null)[] = []
  for (const uuid of folder.journaled()) outcomes.push(await restoreBoard(folder, uuid, (id) => nvml.device(id)))
  return outcomes.filter((outcome) => outcome !== null)
}

/**
 * Runs `work` with a lease of a board. Afterwards the board is restored, even if `work` fails.
 * @throws the error of `work`; RestoreError if the board could not be restored, with the error of `work` as its cause
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
