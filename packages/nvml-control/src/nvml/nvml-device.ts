import type { ClockStates } from '@pctodl/platform'
import { type ComputeMode, computeModeOf } from './compute-mode.js'
import { type EventReasonName, eventReasonNames } from './event-reasons.js'
import { type MigState, readMigState } from './mig-state.js'
import type { NvmlCallName, NvmlCalls } from './nvml-calls.js'
import { NvmlError, orNull } from './nvml-error.js'
import type { NvmlHandle } from './nvml-handle.js'
import { type ComputeProcess, readComputeProcesses } from './processes.js'
import { smCountOf } from './sm-count.js'
import { textBuffer, textIn } from './text.js'

/** NVML's clock ids. */
const CLOCK_SM = 1
const CLOCK_MEM = 2

const THRESHOLD_SLOWDOWN = 1
const THRESHOLD_GPU_MAX = 3

/** NVML's architecture ids (`NVML_DEVICE_ARCH_...`). */
const architectures: Readonly<Record<number, string>> = {
  2: 'Kepler',
  3: 'Maxwell',
  4: 'Pascal',
  5: 'Volta',
  6: 'Turing',
  7: 'Ampere',
  8: 'Ada',
  9: 'Hopper',
  10: 'Blackwell',
}

export interface PowerLimits {
  readonly minW: number
  readonly maxW: number
  readonly defaultW: number
}

/**
 * One board as NVML reports it. Every read calls the driver. A failed read throws an `NvmlError` that names the call
 * and the board.
 */
export class NvmlDevice implements NvmlHandle {
  readonly calls: NvmlCalls
  /** NVML's handle. */
  readonly handle: unknown
  /** Name of the board in error messages. */
  readonly subject: string
  readonly #word = new Uint32Array(1)
  readonly #second = new Uint32Array(1)

  constructor(calls: NvmlCalls, handle: unknown, subject: string) {
    this.calls = calls
    this.handle = handle
    this.subject = subject
  }

  get index(): number {
    return this.#number('nvmlDeviceGetIndex')
  }

  /** Product name, e.g. `NVIDIA A100-SXM4-40GB`. */
  get name(): string {
    return this.#text('nvmlDeviceGetName')
  }

  get uuid(): string {
    return this.#text('nvmlDeviceGetUUID')
  }

  /** E.g. `00000000:01:00.0`. */
  get pciBusId(): string {
    return textIn(this.#pciInfo(), 36)
  }

  /** PCI device id and vendor id, e.g. 0x220810de. */
  get pciDeviceId(): number {
    return this.#pciInfo().readUInt32LE(28)
  }

  /** Architecture, e.g. `Ampere`; NVML's number if this release does not know the name. */
  get architecture(): string {
    const code = this.#number('nvmlDeviceGetArchitecture')
    return architectures[code] ?? `architecture ${code}`
  }

  /** E.g. `8.6`. */
  get computeCapability(): string {
    const major = new Int32Array(1)
    const minor = new Int32Array(1)
    this.check('nvmlDeviceGetCudaComputeCapability', major, minor)
    return `${major[0]}.${minor[0]}`
  }

  /** Number of SMs, computed as CUDA cores divided by cores per SM; null if either is unknown. */
  get smCount(): number | null {
    const cores = orNull(() => this.#number('nvmlDeviceGetNumGpuCores'))
    return cores === null ? null : smCountOf(cores, this.computeCapability)
  }

  /** Memory of the board. `usedBytes` includes memory reserved by the driver. */
  memory(): { readonly totalBytes: number; readonly usedBytes: number; readonly freeBytes: number } {
    const [total, free, used] = this.#longs('nvmlDeviceGetMemoryInfo', 3)
    return { totalBytes: total!, usedBytes: used!, freeBytes: free! }
  }

  get memoryBusBits(): number {
    return this.#number('nvmlDeviceGetMemoryBusWidth')
  }

  /** Supported SM clocks of each memory clock, ascending, MHz. Empty if the board reports no supported clocks. */
  supportedClocks(): ClockStates[] {
    const memClocks = orNull(() => this.#list('nvmlDeviceGetSupportedMemoryClocks')) ?? []
    return memClocks.sort(ascending).map((memClockMhz) => ({
      memClockMhz,
      smClocksMhz: this.#list('nvmlDeviceGetSupportedGraphicsClocks', memClockMhz).sort(ascending),
    }))
  }

  /** Default application clock of the SMs, MHz; null if the board does not support application clocks. */
  defaultApplicationClockMhz(): number | null {
    return orNull(() => this.#selected('nvmlDeviceGetDefaultApplicationsClock', CLOCK_SM))
  }

  /** Temperature above which the firmware lowers the clocks, degrees Celsius; null if it is not reported. */
  thermalLimitC(): number | null {
    return (
      orNull(() => this.#selected('nvmlDeviceGetTemperatureThreshold', THRESHOLD_GPU_MAX)) ??
      orNull(() => this.#selected('nvmlDeviceGetTemperatureThreshold', THRESHOLD_SLOWDOWN))
    )
  }

  powerLimits(): PowerLimits {
    this.check('nvmlDeviceGetPowerManagementLimitConstraints', this.#word, this.#second)
    const [minMw, maxMw] = [this.#word[0]!, this.#second[0]!]
    const defaultMw = this.#number('nvmlDeviceGetPowerManagementDefaultLimit')
    return { minW: minMw / 1000, maxW: maxMw / 1000, defaultW: defaultMw / 1000 }
  }

  /** The power limit that was configured, W. */
  powerLimitW(): number {
    return this.#number('nvmlDeviceGetPowerManagementLimit') / 1000
  }

  /** Power limit in force, W: the lowest of all limits (by slowdown, board and user). */
  enforcedPowerLimitW(): number {
    return this.#number('nvmlDeviceGetEnforcedPowerLimit') / 1000
  }

  /** Energy consumed since the driver was loaded, J. */
  energyJ(): number {
    return this.#longs('nvmlDeviceGetTotalEnergyConsumption', 1)[0]! / 1000
  }

  smClockMhz(): number {
    return this.#selected('nvmlDeviceGetClockInfo', CLOCK_SM)
  }

  memClockMhz(): number {
    return this.#selected('nvmlDeviceGetClockInfo', CLOCK_MEM)
  }

  /** Clocks event reasons, as bits of `eventReasonBits`. Older drivers export this call under its former name. */
  eventReasons(): number {
    const bits =
      orNull(() => this.#longs('nvmlDeviceGetCurrentClocksEventReasons', 1)) ??
      this.#longs('nvmlDeviceGetCurrentClocksThrottleReasons', 1)
    return bits[0]!
  }

  eventReasonNames(): EventReasonName[] {
    return eventReasonNames(this.eventReasons())
  }

  /** Processes with a CUDA context on the board, including MPS clients. */
  computeProcesses(): ComputeProcess[] {
    return readComputeProcesses(this)
  }

  computeMode(): ComputeMode {
    return computeModeOf(this.#number('nvmlDeviceGetComputeMode'))
  }

  /** Whether the driver stays loaded while no program uses the board. */
  persistence(): boolean {
    return this.#number('nvmlDeviceGetPersistenceMode') === 1
  }

  /** MIG mode and instances; null if the board does not support MIG. */
  mig(): MigState | null {
    return readMigState(this)
  }

  /** Wraps another handle of the same library, such as a MIG instance of this board. */
  at(handle: unknown, subject: string): NvmlDevice {
    return new NvmlDevice(this.calls, handle, subject)
  }

  /** Call an NVML function for this board. @throws NvmlError */
  check(name: NvmlCallName, ...args: unknown[]): void {
    const code = this.calls.get(name)(this.handle, ...args)
    if (code !== 0) throw new NvmlError(name, code, this.subject)
  }

  /** Call an NVML function for this board on another thread. @throws NvmlError */
  async checkInBackground(name: NvmlCallName, ...args: unknown[]): Promise<void> {
    const code = await this.calls.inBackground(name, this.handle, ...args)
    if (code !== 0) throw new NvmlError(name, code, this.subject)
  }

  #number(name: NvmlCallName): number {
    this.check(name, this.#word)
    return this.#word[0]!
  }

  #selected(name: NvmlCallName, which: number): number {
    this.check(name, which, this.#word)
    return this.#word[0]!
  }

  #text(name: NvmlCallName): string {
    const buffer = textBuffer()
    this.check(name, buffer, buffer.length)
    return textIn(buffer)
  }

  #longs(name: NvmlCallName, count: number): number[] {
    const words = new BigUint64Array(count)
    this.check(name, words)
    return Array.from(words, Number)
  }

  /**
   * Reads a list of unknown length. If the buffer is too small, the driver reports the length and the call is repeated
   * with it.
   */
  #list(name: NvmlCallName, ...select: number[]): number[] {
    const INSUFFICIENT_SIZE = 7
    for (let room = 256; ; ) {
      const values = new Uint32Array(room)
      this.#word[0] = room
      const code = this.calls.get(name)(this.handle, ...select, this.#word, values)
      if (code === INSUFFICIENT_SIZE && this.#word[0]! > room) room = this.#word[0]!
      else if (code !== 0) throw new NvmlError(name, code, this.subject)
      else return Array.from(values.subarray(0, this.#word[0]!))
    }
  }

  /** Layout of `nvmlPciInfo_t`: legacy id (16 bytes), domain, bus, device, device id, subsystem id, id (32 bytes). */
  #pciInfo(): Buffer {
    const info = Buffer.alloc(68)
    this.check('nvmlDeviceGetPciInfo_v3', info)
    return info
  }
}

function ascending(a: number, b: number): number {
  return a - b
}
