import { type GpuLease, type GpuSpec, InvalidInputError, smClocksAt, snapNearest } from '@pctodl/platform'
import { type OperationName, operations } from './board-file-layout.js'
import { computeModes, nvmlReturn } from './nvml-return.js'

/** Special values that `nvmlDeviceSetGpuLockedClocks` accepts in place of a clock in MHz. */
const CLOCK_LIMIT_TDP = 0xffffff01
const CLOCK_LIMIT_UNLIMITED = 0xffffff02

const operationNames = new Map(
  Object.entries(operations).map(([name, code]) => [code as number, name as OperationName]),
)

/** NVML return code for each error code that the simulated board throws. */
const refusals: Readonly<Record<string, number>> = {
  NO_PERMISSION: nvmlReturn.noPermission,
  NOT_SUPPORTED: nvmlReturn.notSupported,
  GPU_LOST: nvmlReturn.gpuIsLost,
}

/**
 * Changes settings on request, by the rules of the driver. Also stores the settings that a simulated board lacks and a
 * real one has.
 */
export class BoardSetters {
  computeMode: number = computeModes.DEFAULT
  persistenceMode = 0
  /** Requested application clock of the SMs, MHz; the boost clock by default. */
  applicationSmClockMhz!: number
  applicationMemClockMhz!: number
  readonly #spec: GpuSpec
  readonly #lease: GpuLease
  #memLockMhz: number | null = null
  #smLocked = false

  constructor(spec: GpuSpec, lease: GpuLease) {
    this.#spec = spec
    this.#lease = lease
    this.#resetApplicationClocks()
  }

  /** Resets all settings, as happens when the driver is unloaded or the board is reset. */
  async forget(): Promise<void> {
    this.computeMode = computeModes.DEFAULT
    this.persistenceMode = 0
    this.#resetApplicationClocks()
    this.#smLocked = false
    this.#memLockMhz = null
    await this.#lease.resetSmClock()
    await this.#lease.resetMemClock()
    await this.#lease.resetPowerLimit()
  }

  /**
   * Applies one request to change a setting.
   *
   * @returns an NVML return code
   */
  async apply(operation: number, first: number, second: number): Promise<number> {
    const name = operationNames.get(operation)
    if (!name) return nvmlReturn.notSupported
    try {
      return await this.#perform(name, first, second)
    } catch (error) {
      if (error instanceof InvalidInputError) return nvmlReturn.invalidArgument
      return refusals[(error as { readonly code?: string }).code ?? ''] ?? nvmlReturn.unknown
    }
  }

  async #perform(name: OperationName, first: number, second: number): Promise<number> {
    switch (name) {
      case 'setPowerLimit':
        await this.#lease.setPowerLimit(first / 1000)
        return nvmlReturn.success
      case 'lockSmClock':
        return this.#lockSmClock(first, second)
      case 'resetSmClock':
        this.#smLocked = false
        await this.#lease.resetSmClock()
        return nvmlReturn.success
      case 'lockMemClock':
        return this.#lockMemClock(first, second)
      case 'resetMemClock':
        this.#memLockMhz = null
        await this.#lease.resetMemClock()
        return nvmlReturn.success
      case 'setComputeMode':
        if (!(Object.values(computeModes) as number[]).includes(first)) return nvmlReturn.invalidArgument
        this.computeMode = first
        return nvmlReturn.success
      case 'setPersistenceMode':
        this.persistenceMode = first ? 1 : 0
        return nvmlReturn.success
      case 'setApplicationClocks':
        return this.#setApplicationClocks(first, second)
      case 'resetApplicationClocks':
        this.#resetApplicationClocks()
        if (!this.#smLocked) await this.#lease.resetSmClock()
        return nvmlReturn.success
      default:
        return nvmlReturn.notSupported
    }
  }

  /**
   * Locks the SM clock. As in the driver, any clock is accepted, and rounded to the nearest clock that the board
   * supports.
   */
  async #lockSmClock(minMhz: number, maxMhz: number): Promise<number> {
    const states = this.#smStates()
    const min = snapNearest(states, this.#symbolicClock(minMhz, states))!
    const max = snapNearest(states, this.#symbolicClock(maxMhz, states))!
    if (min > max) return nvmlReturn.invalidArgument
    await this.#lease.lockSmClock({ minMhz: min, maxMhz: max })
    this.#smLocked = true
    return nvmlReturn.success
  }

  async #lockMemClock(minMhz: number, maxMhz: number): Promise<number> {
    if (minMhz > maxMhz) return nvmlReturn.invalidArgument
    const states = this.#spec.clockStates.map((state) => state.memClockMhz).sort((a, b) => a - b)
    const memClockMhz = snapNearest(states, maxMhz)!
    await this.#lease.lockMemClock(memClockMhz)
    this.#memLockMhz = memClockMhz
    return nvmlReturn.success
  }

  /**
   * Sets the application clocks. Unlike locked clocks, they must equal supported clocks, and they limit the SM clock
   * only from above.
   */
  async #setApplicationClocks(memMhz: number, smMhz: number): Promise<number> {
    const states = smClocksAt(this.#spec, memMhz)
    if (!states?.includes(smMhz)) return nvmlReturn.invalidArgument
    if (!this.#smLocked) await this.#lease.lockSmClock({ minMhz: states[0]!, maxMhz: smMhz })
    this.applicationSmClockMhz = smMhz
    this.applicationMemClockMhz = memMhz
    return nvmlReturn.success
  }

  #symbolicClock(mhz: number, states: readonly number[]): number {
    if (mhz === CLOCK_LIMIT_TDP) return this.#spec.baseClockMhz
    if (mhz === CLOCK_LIMIT_UNLIMITED) return states.at(-1)!
    return mhz
  }

  #smStates(): readonly number[] {
    return smClocksAt(this.#spec, this.#memLockMhz ?? this.#spec.performanceMemClocksMhz[0]!)!
  }

  #resetApplicationClocks(): void {
    this.applicationSmClockMhz = this.#spec.boostClockMhz
    this.applicationMemClockMhz = Math.max(...this.#spec.clockStates.map((state) => state.memClockMhz))
  }
}
