import { type Clock, type Gpu, type GpuInfo, type GpuSpec, systemClock, type Telemetry } from '@pctodl/platform'
import type { BoardControl } from './control/board-control.js'
import { type ControlOptions, selectControl } from './control/select-control.js'
import { type BoardFacts, boardFacts } from './describe/board-facts.js'
import { specOfBoard } from './describe/spec-of-board.js'
import { acquireLease, type LeaseOptions } from './lease/acquire-lease.js'
import { LeaseFolder } from './lease/lease-folder.js'
import type { NvmlLease } from './lease/nvml-lease.js'
import { RestoreError } from './lease/restore.js'
import { restoreLeftovers } from './lease/restore-leftovers.js'
import type { NvmlCallName } from './nvml/nvml-calls.js'
import type { NvmlDevice } from './nvml/nvml-device.js'
import type { NvmlError } from './nvml/nvml-error.js'
import { type LoadNvmlOptions, loadNvml, type Nvml } from './nvml/nvml-library.js'
import { TelemetryReader } from './nvml/telemetry-reader.js'

export interface OpenGpuOptions extends LoadNvmlOptions, LeaseOptions {
  /** The board type, e.g. from a platform file. Default: what NVML and this release know of the board. */
  readonly spec?: GpuSpec
  /** How the board is changed. Default: NVML, and `sudo -n nvidia-smi` where NVML lacks the permission. */
  readonly control?: ControlOptions
  /** Default: real time. */
  readonly clock?: Clock
}

/** One real GPU. */
export class NvmlGpu implements Gpu {
  readonly spec: GpuSpec
  readonly device: NvmlDevice
  readonly nvml: Nvml
  readonly #options: OpenGpuOptions
  readonly #clock: Clock
  readonly #reader: TelemetryReader
  readonly #control: BoardControl

  constructor(nvml: Nvml, device: NvmlDevice, spec: GpuSpec, options: OpenGpuOptions = {}) {
    this.nvml = nvml
    this.device = device
    this.spec = spec
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#reader = new TelemetryReader(device, this.#clock)
    this.#control = selectControl(device, options.control)
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

  /** @throws LeaseHeldError, RestoreError, PctodlError `LEASE_FOLDER` */
  acquire(): Promise<NvmlLease> {
    const smi = this.#options.control?.smi
    return acquireLease(
      {
        device: this.device,
        spec: this.spec,
        control: this.#control,
        clock: this.#clock,
        watchdog: { libraryPath: this.nvml.libraryPath, ...(smi ? { smi } : {}) },
      },
      this.#options,
    )
  }
}

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
  await putRight(nvml, options)
  const spec = options.spec ?? specOfBoard(boardFacts(device))
  return new NvmlGpu(nvml, device, spec, options)
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

/** Put right what killed programs left behind on this machine. Every program of the family does so at its start. */
export function putRight(
  nvml: Nvml,
  options: LeaseOptions & { readonly control?: ControlOptions; readonly anyUser?: boolean } = {},
) {
  return restoreLeftovers(
    new LeaseFolder(options.leaseFolder),
    (uuid) => {
      const device = nvml.device(uuid)
      return { device, control: selectControl(device, options.control) }
    },
    options.anyUser === undefined ? {} : { anyUser: options.anyUser },
  )
}

/**
 * Hold the lease of a board while `work` runs; the board is put back however it ends.
 *
 * @throws what `work` throws
 * @throws RestoreError where the board could not be put back; where `work` has failed before, with that as its cause
 */
export async function withLease<T>(gpu: NvmlGpu, work: (lease: NvmlLease) => Promise<T>): Promise<T> {
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
