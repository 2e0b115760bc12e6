import { type GpuSpec, InvalidInputError } from '@pctodl/platform'
import type { BoardChange, ChangeKind, ClockRange } from '../control/board-change.js'
import { memClockChange, memClockInForce, resetChange, smClockChange } from '../lease/asked-change.js'
import type { BoardLease } from '../lease/board-lease.js'
import type { ComputeMode } from '../nvml/compute-mode.js'
import { type AcquiredLease, acquireServed, ServedLease, type ServedLeaseOptions } from './served-lease.js'

export interface ServedBoard {
  readonly uuid: string
  /** Name of the board in error messages. */
  readonly subject: string
  readonly spec: GpuSpec
}

/**
 * A lease of a board that the node service holds for this process. When the connection closes, for example because this
 * process ends, the service restores the board.
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
  static async acquire(board: ServedBoard, options: ServedLeaseOptions = {}): Promise<ServiceLease> {
    return new ServiceLease(board, await acquireServed(board.uuid, options))
  }

  async lockSmClock(clock: number | ClockRange): Promise<void> {
    await this.#change(smClockChange(this.#spec, memClockInForce(this.#spec, this.found, this.#memClockMhz), clock))
  }

  resetSmClock(): Promise<void> {
    return this.#reset('sm-clock')
  }

  async lockMemClock(memClockMhz: number): Promise<void> {
    await this.#change(memClockChange(this.#spec, memClockMhz))
    this.#memClockMhz = memClockMhz
  }

  async resetMemClock(): Promise<void> {
    await this.#reset('mem-clock')
    this.#memClockMhz = null
  }

  async setPowerLimit(powerLimitW: number): Promise<void> {
    if (!(powerLimitW > 0)) throw new InvalidInputError('powerLimitW', powerLimitW, 'a limit above 0 W')
    await this.#change({ kind: 'power-limit', powerLimitW })
  }

  resetPowerLimit(): Promise<void> {
    return this.#reset('power-limit')
  }

  async setComputeMode(mode: ComputeMode): Promise<void> {
    await this.#change({ kind: 'compute-mode', mode })
  }

  resetComputeMode(): Promise<void> {
    return this.#reset('compute-mode')
  }

  async setPersistence(enabled: boolean): Promise<void> {
    await this.#change({ kind: 'persistence', enabled })
  }

  resetPersistence(): Promise<void> {
    return this.#reset('persistence')
  }

  async verify(): Promise<void> {
    await this.request({ type: 'verify', board: this.uuid })
  }

  async #reset(kind: ChangeKind): Promise<void> {
    const change = resetChange(kind, this.#spec, this.found)
    if (change) await this.#change(change)
  }

  async #change(change: BoardChange): Promise<void> {
    await this.request({ type: 'change', board: this.uuid, change })
  }
}
