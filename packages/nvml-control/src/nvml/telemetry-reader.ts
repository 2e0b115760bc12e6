import type { Clock, Telemetry } from '@pctodl/platform'
import { clocksEventReasons } from './event-reasons.js'
import type { NvmlCallName } from './nvml-calls.js'
import type { NvmlDevice } from './nvml-device.js'
import { meansAbsent, meansGone, NvmlError } from './nvml-error.js'

const CLOCK_SM = 1
const CLOCK_MEM = 2
const SENSOR_GPU = 0
const FIELD_POWER_INSTANT = 186
const VALUE_UNSIGNED_INT = 1
const TWO_TO_32 = 4294967296

/**
 * Reads all fields of `Telemetry`. The buffers for the driver's answers are allocated only once, in the constructor.
 */
export class TelemetryReader {
  readonly #device: NvmlDevice
  readonly #clock: Clock
  readonly #failed = new Map<NvmlCallName, number>()
  readonly #words = new Uint32Array(6)
  /** Buffer for `nvmlFieldValue_t`: id, scope, time, latency, type, return code, value; 40 bytes. */
  readonly #field = new Uint32Array(10)
  #reasonsName: NvmlCallName = 'nvmlDeviceGetCurrentClocksEventReasons'

  constructor(device: NvmlDevice, clock: Clock) {
    this.#device = device
    this.#clock = clock
  }

  /**
   * Reads one sample. A field that fails is null; `failures` returns why.
   *
   * @throws NvmlError if no field of the board can be read, e.g. `GPU_LOST`
   */
  read(): Telemetry {
    this.#failed.clear()
    const beforeMs = this.#clock.now()
    const powerAverageW = this.#number('nvmlDeviceGetPowerUsage')
    const powerInstantW = this.#powerInstantW()
    const energyMj = this.#long('nvmlDeviceGetTotalEnergyConsumption', 0)
    const smClockMhz = this.#number('nvmlDeviceGetClockInfo', CLOCK_SM)
    const memClockMhz = this.#number('nvmlDeviceGetClockInfo', CLOCK_MEM)
    const smUtilPercent = this.#number('nvmlDeviceGetUtilizationRates')
    const memUtilPercent = smUtilPercent === null ? null : this.#words[1]!
    const temperatureC = this.#number('nvmlDeviceGetTemperature', SENSOR_GPU)
    // Layout of `nvmlMemory_t`: total, free, used.
    const memoryUsedBytes = this.#long('nvmlDeviceGetMemoryInfo', 4)
    const clocksEventReasons = this.#readReasons()
    return {
      // Reading all fields takes some time. The time stamp is the middle of this time.
      timeMs: (beforeMs + this.#clock.now()) / 2,
      powerAverageW: powerAverageW === null ? null : powerAverageW / 1000,
      powerInstantW,
      energyJ: energyMj === null ? null : energyMj / 1000,
      smClockMhz,
      memClockMhz,
      smUtilPercent,
      memUtilPercent,
      temperatureC,
      memoryUsedBytes,
      clocksEventReasons,
    }
  }

  /**
   * Returns the errors of the fields that are null in the last sample, by NVML call. `NOT_SUPPORTED` means that the
   * board lacks the field.
   */
  failures(): ReadonlyMap<NvmlCallName, NvmlError> {
    return new Map([...this.#failed].map(([name, code]) => [name, new NvmlError(name, code, this.#device.subject)]))
  }

  #powerInstantW(): number | null {
    const name = 'nvmlDeviceGetFieldValues'
    const field = this.#field
    field[0] = FIELD_POWER_INSTANT
    field[1] = 0
    if (!this.#ok(name, this.#call(name, 1, field))) return null
    if (field[7] === 0 && field[6] === VALUE_UNSIGNED_INT) return field[8]! / 1000
    this.#failed.set(name, field[7] || 3)
    return null
  }

  #readReasons() {
    let code = this.#call(this.#reasonsName, this.#words)
    if (meansAbsent(code) && this.#reasonsName === 'nvmlDeviceGetCurrentClocksEventReasons') {
      this.#reasonsName = 'nvmlDeviceGetCurrentClocksThrottleReasons'
      code = this.#call(this.#reasonsName, this.#words)
    }
    return clocksEventReasons(this.#ok(this.#reasonsName, code) ? this.#words[0]! : 0)
  }

  #number(name: NvmlCallName, ...select: number[]): number | null {
    return this.#ok(name, this.#call(name, ...select, this.#words)) ? this.#words[0]! : null
  }

  /** Combines two 32-bit words, low word first, into one number. Exact up to 2^53. */
  #long(name: NvmlCallName, at: number): number | null {
    return this.#number(name) === null ? null : this.#words[at]! + TWO_TO_32 * this.#words[at + 1]!
  }

  #call(name: NvmlCallName, ...args: unknown[]): number {
    return this.#device.calls.get(name)(this.#device.handle, ...args)
  }

  #ok(name: NvmlCallName, code: number): boolean {
    if (code === 0) return true
    if (meansGone(code)) throw new NvmlError(name, code, this.#device.subject)
    this.#failed.set(name, code)
    return false
  }
}
