import type { ClockStates } from '@pctodl/platform'
import { type ComputeMode, computeModes } from '../control/board-change.js'
import { type EventReasonName, eventReasonNames } from './event-reasons.js'
import { smCountOf } from './generations.js'
import { type MigState, readMigState } from './mig-state.js'
import { NvmlError, orNull } from './nvml-error.js'
import { NvmlHandle, textIn } from './nvml-handle.js'
import { type ComputeProcess, readComputeProcesses } from './processes.js'

/** NVML's ids of clocks, temperature thresholds, sensors and fields. */
const [CLOCK_SM, CLOCK_MEM] = [1, 2]
const [THRESHOLD_SLOWDOWN, THRESHOLD_GPU_MAX] = [1, 3]
const SENSOR_GPU = 0
const FIELD_POWER_INSTANT = 186
const VALUE_UNSIGNED_INT = 1
const NOT_SUPPORTED = 3

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

/** One board as NVML reports it. Every read calls the driver, and throws an `NvmlError` if it fails. */
export class NvmlDevice extends NvmlHandle {
  get index(): number {
    return this.number('nvmlDeviceGetIndex')
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
    const code = this.number('nvmlDeviceGetArchitecture')
    return architectures[code] ?? `architecture ${code}`
  }

  /** E.g. `8.6`. */
  get computeCapability(): string {
    const major = new Int32Array(1)
    const minor = new Int32Array(1)
    this.check('nvmlDeviceGetCudaComputeCapability', major, minor)
    return `${major[0]}.${minor[0]}`
  }

  /** CUDA cores divided by cores per SM; null if either is unknown. */
  get smCount(): number | null {
    const cores = orNull(() => this.number('nvmlDeviceGetNumGpuCores'))
    return cores === null ? null : smCountOf(cores, this.computeCapability)
  }

  /** Memory of the board. `usedBytes` includes memory reserved by the driver. */
  memory(): { readonly totalBytes: number; readonly usedBytes: number; readonly freeBytes: number } {
    const [total, free, used] = this.longs('nvmlDeviceGetMemoryInfo', 3)
    return { totalBytes: total!, usedBytes: used!, freeBytes: free! }
  }

  get memoryBusBits(): number {
    return this.number('nvmlDeviceGetMemoryBusWidth')
  }

  /** SM clocks of each memory clock, ascending, MHz. Empty if the board reports none. */
  supportedClocks(): ClockStates[] {
    const clocks = (entries: Buffer[]) => entries.map((entry) => entry.readUInt32LE(0)).sort((a, b) => a - b)
    const memClocks = orNull(() => this.list('nvmlDeviceGetSupportedMemoryClocks', 4)) ?? []
    return clocks(memClocks).map((memClockMhz) => ({
      memClockMhz,
      smClocksMhz: clocks(this.list('nvmlDeviceGetSupportedGraphicsClocks', 4, memClockMhz)),
    }))
  }

  defaultApplicationClockMhz(): number | null {
    return orNull(() => this.number('nvmlDeviceGetDefaultApplicationsClock', CLOCK_SM))
  }

  /** Temperature above which the firmware lowers the clocks, degrees Celsius; null if it is not reported. */
  thermalLimitC(): number | null {
    return (
      orNull(() => this.number('nvmlDeviceGetTemperatureThreshold', THRESHOLD_GPU_MAX)) ??
      orNull(() => this.number('nvmlDeviceGetTemperatureThreshold', THRESHOLD_SLOWDOWN))
    )
  }

  powerLimits(): PowerLimits {
    const [min, max] = [new Uint32Array(1), new Uint32Array(1)]
    this.check('nvmlDeviceGetPowerManagementLimitConstraints', min, max)
    const defaultMw = this.number('nvmlDeviceGetPowerManagementDefaultLimit')
    return { minW: min[0]! / 1000, maxW: max[0]! / 1000, defaultW: defaultMw / 1000 }
  }

  powerLimitW(): number {
    return this.number('nvmlDeviceGetPowerManagementLimit') / 1000
  }

  /** Power limit in force, W: the lowest of all limits (by slowdown, board and user). */
  enforcedPowerLimitW(): number {
    return this.number('nvmlDeviceGetEnforcedPowerLimit') / 1000
  }

  powerAverageW(): number {
    return this.number('nvmlDeviceGetPowerUsage') / 1000
  }

  powerInstantW(): number {
    const name = 'nvmlDeviceGetFieldValues'
    // Layout of `nvmlFieldValue_t`: id, scope, time (8 bytes), latency (8 bytes), type, return code, value (8 bytes).
    const field = Uint32Array.of(FIELD_POWER_INSTANT, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    this.check(name, 1, field)
    if (field[7] === 0 && field[6] === VALUE_UNSIGNED_INT) return field[8]! / 1000
    throw new NvmlError(name, field[7] || NOT_SUPPORTED, this.subject)
  }

  /** Energy consumed since the driver was loaded, J. */
  energyJ(): number {
    return this.longs('nvmlDeviceGetTotalEnergyConsumption')[0]! / 1000
  }

  smClockMhz(): number {
    return this.number('nvmlDeviceGetClockInfo', CLOCK_SM)
  }

  memClockMhz(): number {
    return this.number('nvmlDeviceGetClockInfo', CLOCK_MEM)
  }

  utilizationPercent(): { readonly sm: number; readonly mem: number } {
    const rates = this.bytes('nvmlDeviceGetUtilizationRates', 8)
    return { sm: rates.readUInt32LE(0), mem: rates.readUInt32LE(4) }
  }

  temperatureC(): number {
    return this.number('nvmlDeviceGetTemperature', SENSOR_GPU)
  }

  /** Clocks event reasons, as bits of `eventReasonBits`. Older drivers export this call under its former name. */
  eventReasons(): number {
    const bits =
      orNull(() => this.longs('nvmlDeviceGetCurrentClocksEventReasons')) ??
      this.longs('nvmlDeviceGetCurrentClocksThrottleReasons')
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
    return computeModes[this.number('nvmlDeviceGetComputeMode')] ?? 'default'
  }

  persistence(): boolean {
    return this.number('nvmlDeviceGetPersistenceMode') === 1
  }

  mig(): MigState | null {
    return readMigState(this)
  }

  /** Layout of `nvmlPciInfo_t`: legacy id (16 bytes), domain, bus, device, device id, subsystem id, id (32 bytes). */
  #pciInfo(): Buffer {
    return this.bytes('nvmlDeviceGetPciInfo_v3', 68)
  }
}
