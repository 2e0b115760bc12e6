import { type GpuSpec, InvalidInputError, PctodlError } from '@pctodl/platform'
import type { BoardChange, ClockRange } from '../control/board-change.js'
import { assertSmRange } from '../lease/assert-sm-range.js'
import type { BoardLease } from '../lease/board-lease.js'
import { leaseReleased } from '../lease/lease-errors.js'
import type { FoundState } from '../lease/lease-record.js'
import type { ComputeMode } from '../nvml/compute-mode.js'
import { ServiceClient, type ServiceClientOptions } from './service-client.js'
import type { LeaseReport, ServiceRequestBody, ServiceResults } from './service-protocol.js'

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
export class ServiceLease implements BoardLease {
  readonly path = 'service'
  readonly found: FoundState
  readonly #board: ServedBoard
  readonly #client: ServiceClient
  #memClockMhz: number | null = null
  #ended: PctodlError | undefined
  #released: Promise<void> | undefined

  private constructor(board: ServedBoard, client: ServiceClient, found: FoundState) {
    this.#board = board
    this.#client = client
    this.found = found
    client.onLeaseEnded = (_, reason) => {
      this.#ended = new PctodlError(
        'LEASE_RELEASED',
        `the node service has ended the lease on ${board.subject}: ${reason}`,
      )
    }
  }

  /** @throws ServiceError `NO_SERVICE`, `NOT_ALLOWED`, `LEASE_HELD`, `NO_SUCH_BOARD`, `RESTORE_FAILED`, ... */
  static async acquire(board: ServedBoard, options: ServiceClientOptions = {}): Promise<ServiceLease> {
    const client = await ServiceClient.open(options)
    try {
      const { found } = await client.request({ type: 'acquire', board: board.uuid })
      return new ServiceLease(board, client, found)
    } catch (error) {
      client.close()
      throw error
    }
  }

  /** Whether it is neither released nor ended by the service. */
  get isHeld(): boolean {
    return this.#ended === undefined && this.#released === undefined
  }

  async lockSmClock(clock: number | ClockRange): Promise<void> {
    const range = typeof clock === 'number' ? { minMhz: clock, maxMhz: clock } : clock
    const memClockMhz =
      this.#memClockMhz ?? this.found.memClockLock?.maxMhz ?? this.#board.spec.performanceMemClocksMhz[0]!
    assertSmRange(this.#board.spec, memClockMhz, range)
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
    await this.#change({ kind: 'power-limit', powerLimitW: this.#board.spec.powerLimitW.default })
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
    await this.#request({ type: 'verify', board: this.#board.uuid })
  }

  /** Start the board's MPS daemon, for processes of this user; it ends with the lease. */
  startMps(defaultPercent?: number): Promise<ServiceResults['mps-start']> {
    return this.#request({
      type: 'mps-start',
      board: this.#board.uuid,
      ...(defaultPercent === undefined ? {} : { defaultPercent }),
    })
  }

  /** @param graceMs how long clients may take to leave, 0 to 60,000 ms */
  stopMps(graceMs: number): Promise<ServiceResults['mps-stop']> {
    return this.#request({ type: 'mps-stop', board: this.#board.uuid, graceMs })
  }

  /** @throws ServiceError `MPS_NOT_A_CLIENT`, `MPS_WRONG_BOARD` */
  async verifyMpsClient(pid: number): Promise<void> {
    await this.#request({ type: 'mps-verify', board: this.#board.uuid, pid })
  }

  /** Tell what is aimed at and attained, for the service's metrics. */
  async report(report: LeaseReport): Promise<void> {
    await this.#request({ type: 'report', board: this.#board.uuid, ...report })
  }

  /** @throws ServiceError `RESTORE_FAILED` where the board could not be put back; the service goes on trying */
  release(): Promise<void> {
    this.#released ??= this.#release()
    return this.#released
  }

  async #release(): Promise<void> {
    try {
      if (!this.#ended) await this.#client.request({ type: 'release', board: this.#board.uuid })
    } finally {
      this.#client.close()
    }
  }

  async #change(change: BoardChange): Promise<void> {
    await this.#request({ type: 'change', board: this.#board.uuid, change })
  }

  #request<Body extends ServiceRequestBody>(body: Body): Promise<ServiceResults[Body['type']]> {
    if (this.#ended) return Promise.reject(this.#ended)
    if (this.#released) return Promise.reject(leaseReleased(this.#board.subject))
    return this.#client.request(body)
  }
}
