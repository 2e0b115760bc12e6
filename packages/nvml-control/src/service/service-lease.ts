import { type GpuSpec, InvalidInputError } from '@pctodl/platform'
import type { BoardChange, ClockRange } from '../control/board-change.js'
import { assertSmRange } from '../lease/assert-sm-range.js'
import type { BoardLease } from '../lease/board-lease.js'
import type { ComputeMode } from '../nvml/compute-mode.js'
import { type AcquiredLease, acquireServed, ServedLease } from './served-lease.js'
import type { ServiceClientOptions } from './service-client.js'

export interface ServedBoard {
  readonly uuid: string
  /** What errors call the board. */
  readonly subject: string
  readonly spec: GpuSpec
}

/**
 * A lease that the node service holds for this process. It lives as long as its connection: whatever ends this process, the
 * service puts the board back.
 */
export class ServiceLease extends ServedLease implements BoardLease {
  readonly path = 'service'
  readonly #spec: GpuSpec
  #memClockMhz: number | null = null

  private constructor({ uuid, subject, spec }: ServedBoard, acquired: AcquiredLease) {
    super(uuid, subject, acquired)
    this.#spec = spec
  }

  /** @throws ServiceError `NO_SERVICE`, `NOT_ALLOWED`, `LEASE_HELD`, `NO_SUCH_BOARD`, `RESTORE_FAILED`, ... */
  static async acquire(board: ServedBoard, options: ServiceClientOptions = {}): Promise<ServiceLease> {
    return new ServiceLease(board, await acquireServed(board.uuid, options))
  }

  async lockSmClock(clock: number | ClockRange): Promise<void> {
    const range = typeof clock === 'number' ? { minMhz: clock, maxMhz: clock } : clock
    const memClockMhz = this.#memClockMhz ?? this.found.memClockLock?.maxMhz ?? this.#spec.performanceMemClocksMhz[0]!
    assertSmRange(this.#spec, memClockMhz, range)
    await this.#change({ kind: 'sm-clock', range: { minMhz: range.minMhz, maxMhz: range.maxMhz } })
  }

  async resetSmClock(): Promise<void> {
    await this.#change({ kind: 'sm-clock', range: this.found.smClockLock })
  }

  async lockMemClock(memClockMhz: number): Promise<void> {
    if (!Number.isInteger(memClockMhz)) throw new InvalidInputError('memClockMhz', memClockMhz, 'a whole number of MHz')
    await this.#change({ kind: 'mem-clock', range: { minMhz: memClockMhz, maxMhz: memClockMhz } })
    this.#memClockMhz = memClockMhz
  }

  async resetMemClock(): Promise<void> {
    await this.#change({ kind: 'mem-clock', range: this.found.memClockLock })
    this.#memClockMhz = null
  }

  async setPowerLimit(powerLimitW: number): Promise<void> {
    if (!(powerLimitW > 0)) throw new InvalidInputError('powerLimitW', powerLimitW, 'a limit above 0 W')
    await this.#change({ kind: 'power-limit', powerLimitW })
  }

  async resetPowerLimit(): Promise<void> {
    await this.#change({ kind: 'power-limit', powerLimitW: this.#spec.powerLimitW.default })
  }

  async setComputeMode(mode: ComputeMode): Promise<void> {
    await this.#change({ kind: 'compute-mode', mode })
  }

  async resetComputeMode(): Promise<void> {
    const { computeMode } = this.found
    if (computeMode !== null) await this.#change({ kind: 'compute-mode', mode: computeMode })
  }

  async setPersistence(enabled: boolean): Promise<void> {
    await this.#change({ kind: 'persistence', enabled })
  }

  async resetPersistence(): Promise<void> {
    const { persistence } = this.found
    if (persistence !== null) await this.#change({ kind: 'persistence', enabled: persistence })
  }

  async verify(): Promise<void> {
    await this.request({ type: 'verify', board: this.uuid })
  }

  async #change(change: BoardChange): Promise<void> {
    await this.request({ type: 'change', board: this.uuid, change })
  }
}
