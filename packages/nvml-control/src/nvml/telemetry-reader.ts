import type { Clock, Telemetry } from '@pctodl/platform'
import { clocksEventReasons } from './event-reasons.js'
import type { NvmlCall, NvmlCallName } from './nvml-calls.js'
import type { NvmlDevice } from './nvml-device.js'
import { meansAbsent, meansGone, NvmlError } from './nvml-error.js'

const CLOCK_SM = 1
const CLOCK_MEM = 2
const SENSOR_GPU = 0
const FIELD_POWER_INSTANT = 186
const VALUE_UNSIGNED_INT = 1
const TWO_TO_32 = 4294967296

/**
 * Reads all fields of `Telemetry` at once. All driver buffers are allocated once, here, so a reading allocates a single
 * object.
 */
export class TelemetryReader {
  readonly #device: NvmlDevice
  readonly #clock: Clock
  readonly #failed = new Map<NvmlCallName, number>()
  readonly #words = new Uint32Array(6)
  /** `nvmlFieldValue_t`: id, scope, time, latency, type, return code, value; 40 bytes. */
  readonly #field = new Uint32Array(10)
  readonly #power: NvmlCall
  readonly #fields: NvmlCall
  readonly #energy: NvmlCall
  readonly #clockInfo: NvmlCall
  readonly #utilization: NvmlCall
  readonly #temperature: NvmlCall
  readonly #memory: NvmlCall
  #reasons: NvmlCall
  #reasonsName: NvmlCallName = 'nvmlDeviceGetCurrentClocksEventReasons'

  constructor(device: NvmlDevice, clock: Clock) {
    this.#device = device
    this.#clock = clock
    this.#power = device.calls.get('nvmlDeviceGetPowerUsage')
    this.#fields = device.calls.get('nvmlDeviceGetFieldValues')
    this.#energy = device.calls.get('nvmlDeviceGetTotalEnergyConsumption')
    this.#clockInfo = device.calls.get('nvmlDeviceGetClockInfo')
    this.#utilization = device.calls.get('nvmlDeviceGetUtilizationRates')
    this.#temperature = device.calls.get('nvmlDeviceGetTemperature')
    this.#memory = device.calls.get('nvmlDeviceGetMemoryInfo')
    this.#reasons = device.calls.get(this.#reasonsName)
  }

  /**
   * One reading. A field that fails is null, and `failures` gives the reason.
   *
   * @throws NvmlError if the whole board cannot be read any more, e.g. `GPU_LOST`
   */
  read(): Telemetry {
    const { handle } = this.#device
    const words = this.#words
    if (this.#failed.size > 0) this.#failed.clear()
    const beforeMs = this.#clock.now()

    const powerAverageW = this.#ok('nvmlDeviceGetPowerUsage', this.#power(handle, words)) ? words[0]! / 1000 : null
    const powerInstantW = this.#powerInstantW()
    const energyJ = this.#ok('nvmlDeviceGetTotalEnergyConsumption', this.#energy(handle, words))
      ? long(words, 0) / 1000
      : null
    const smClockMhz = this.#ok('nvmlDeviceGetClockInfo', this.#clockInfo(handle, CLOCK_SM, words)) ? words[0]! : null
    const memClockMhz = this.#ok('nvmlDeviceGetClockInfo', this.#clockInfo(handle, CLOCK_MEM, words)) ? words[0]! : null
    const utilization = this.#ok('nvmlDeviceGetUtilizationRates', this.#utilization(handle, words))
    const smUtilPercent = utilization ? words[0]! : null
    const memUtilPercent = utilization ? words[1]! : null
    const temperatureC = this.#ok('nvmlDeviceGetTemperature', this.#temperature(handle, SENSOR_GPU, words))
      ? words[0]!
      : null
    // `nvmlMemory_t`: total, free, used.
    const memoryUsedBytes = this.#ok('nvmlDeviceGetMemoryInfo', this.#memory(handle, words)) ? long(words, 4) : null
    const reasons = this.#readReasons()

    return {
      // The reading took some time; its middle is the best timestamp.
      timeMs: (beforeMs + this.#clock.now()) / 2,
      powerAverageW,
      powerInstantW,
      energyJ,
      smClockMhz,
      memClockMhz,
      smUtilPercent,
      memUtilPercent,
      temperatureC,
      memoryUsedBytes,
      clocksEventReasons: reasons,
    }
  }

  /** Why fields of the last reading are null. Fields that the board lacks are included, as `NOT_SUPPORTED`. */
  failures(): ReadonlyMap<NvmlCallName, NvmlError> {
    return new Map([...this.#failed].map(([name, code]) => [name, new NvmlError(name, code, this.#device.subject)]))
  }

  #powerInstantW(): number | null {
    const field = this.#field
    field[0] = FIELD_POWER_INSTANT
    field[1] = 0
    if (!this.#ok('nvmlDeviceGetFieldValues', this.#fields(this.#device.handle, 1, field))) return null
    if (field[7] !== 0 || field[6] !== VALUE_UNSIGNED_INT) {
      this.#failed.set('nvmlDeviceGetFieldValues', field[7] || 3)
      return null
    }
    return field[8]! / 1000
  }

  #readReasons() {
    const words = this.#words
    let code = this.#reasons(this.#device.handle, words)
    if (meansAbsent(code) && this.#reasonsName === 'nvmlDeviceGetCurrentClocksEventReasons') {
      this.#reasonsName = 'nvmlDeviceGetCurrentClocksThrottleReasons'
      this.#reasons = this.#device.calls.get(this.#reasonsName)
      code = this.#reasons(this.#device.handle, words)
    }
    return clocksEventReasons(this.#ok(this.#reasonsName, code) ? words[0]! : 0)
  }

  #ok(name: NvmlCallName, code: number): boolean {
    if (code === 0) return true
    if (meansGone(code)) throw new NvmlError(name, code, this.#device.subject)
    this.#failed.set(name, code)
    return false
  }
}

/** A 64-bit number in two 32-bit words, low first; exact up to 2^53. */
function long(words: Uint32Array, at: number): number {
  return words[at]! + TWO_TO_32 * words[at + 1]!
}
