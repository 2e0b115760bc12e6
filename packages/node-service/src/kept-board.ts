import path from 'node:path'
import { given, makePrivateFolder } from '@pctodl/command-line'
import {
  applyChange,
  type BoardChange,
  type BoardEvent,
  type ClockRange,
  FileLock,
  type FoundState,
  LeaseFolder,
  loadNvml,
  lockHolder,
  meansGone,
  type NvmlDevice,
  NvmlError,
  NvmlEvents,
  NvmlGpu,
  type NvmlLease,
  reasonOf,
  restoreBoard,
  unlessFailed,
} from '@pctodl/nvml-control'
import { PctodlError, systemClock, type Telemetry } from '@pctodl/platform'

/** The operator's ceilings for a board, which apply with and without a lease. Null means no ceiling. */
export interface Ceiling {
  readonly powerLimitW: number | null
  /** The clock lock that is in force while no lease sets another. A lease cannot exceed its maximum. */
  readonly smClock: ClockRange | null
  readonly memClock: ClockRange | null
}

export const noCeiling: Ceiling = { powerLimitW: null, smClock: null, memClock: null }

export interface KeptBoardOptions {
  /** Index or UUID. */
  readonly board: string
  readonly libraryPath?: string | undefined
  readonly leaseFolder: string
  /** Folder that all services of the machine share. The process that manages a board holds a lock on a file in it. */
  readonly lockFolder: string
}

export type MigInstance = NonNullable<ReturnType<NvmlDevice['mig']>>['instances'][number]

export interface BoardLook {
  readonly isDivided: boolean
  readonly instances: readonly MigInstance[]
  readonly events: readonly BoardEvent[]
  /** The settings that the lease will restore; null if there is no lease. */
  readonly found: FoundState | null
  /** What became of settings that a former lease left changed. */
  readonly left: 'nothing' | 'in-use' | 'restored' | 'rebooted' | { readonly failed: string }
  /** Settings that a program other than the holder has changed. */
  readonly others: readonly string[]
}

export interface BoardReadings extends Telemetry {
  readonly powerLimitW: number
  /** The limits that the driver accepts; null if it does not report them. */
  readonly limits: ReturnType<NvmlDevice['powerLimits']> | null
  readonly persistence: boolean
  readonly pciBusId: string
  readonly clients: number
}

/** Time that the board's previous process has to exit, ms. */
const LOCK_WAIT_MS = 5000

/**
 * Makes the NVML calls for one board. It runs in a process of its own, so that a call that hangs does not block other
 * boards. The service calls its public methods through `BoardProcess`.
 */
export class KeptBoard {
  readonly #options: KeptBoardOptions
  #gpu: NvmlGpu | null = null
  #uuid: string | null = null
  #lock: FileLock | null = null
  #lease: NvmlLease | null = null
  #ceiling: Ceiling = noCeiling
  /** The clock locks that apply while no lease sets others. They are remembered, because NVML cannot read them. */
  #standing: Pick<Ceiling, 'smClock' | 'memClock'> = noCeiling
  /** Runs `look`, `acquire` and `release` one at a time. */
  #turns: Promise<unknown> = Promise.resolve()
  /** Null if the board does not support events, or if they have failed; undefined before it is opened. */
  #events: NvmlEvents | null | undefined

  constructor(options: KeptBoardOptions) {
    this.#options = options
  }

  count(): number {
    return this.#nvml().deviceCount
  }

  /** Locks the board for this service. @throws PctodlError `BOARD_KEPT` if another service of this machine keeps it */
  async open(): Promise<{ readonly uuid: string; readonly index: number; readonly name: string }> {
    const { uuid, index, name } = this.#board().device
    await this.#keep(uuid)
    return { uuid, index, name }
  }

  /** Enforces the ceiling and returns the board's state. Without a lease, restores what a former lease left changed. */
  look(ceiling: Ceiling): Promise<BoardLook> {
    return this.#inTurn(() => this.#look(ceiling))
  }

  acquire(ceiling: Ceiling): Promise<FoundState> {
    return this.#inTurn(async () => {
      await this.open()
      await this.#keepWithin(ceiling)
      const { smClock, memClock } = ceiling
      this.#lease ??= await this.#board().acquireDirectly({ standingLocks: { smClock, memClock } })
      return this.#lease.found
    })
  }

  /** Detects another program's power limit. Returns the state of a change and what `release` restores. */
  before(change: BoardChange): Record<'isInForce' | 'isSupported', boolean> & { readonly found: FoundState } {
    const lease = this.#held()
    lease.noticeLimit()
    return { isInForce: lease.isInForce(change), isSupported: lease.supports(change), found: lease.found }
  }

  async change(change: BoardChange): Promise<void> {
    await this.#held().change(change)
  }

  verify(): void {
    this.#held().verify()
  }

  /** Returns the settings that other programs have changed; these are kept. @throws RestoreError; `look` tries again */
  release(): Promise<readonly string[]> {
    return this.#inTurn(() => this.#release())
  }

  processes(): ReturnType<NvmlDevice['computeProcesses']> {
    return this.#board().device.computeProcesses()
  }

  async readings(): Promise<BoardReadings> {
    const gpu = this.#board()
    const { device } = gpu
    return {
      ...(await gpu.sample()),
      powerLimitW: device.powerLimitW(),
      limits: unlessFailed(() => device.powerLimits()),
      persistence: unlessFailed(() => device.persistence()) ?? false,
      pciBusId: device.pciBusId,
      clients: device.computeProcesses().length,
    }
  }

  async close(): Promise<void> {
    await this.release().catch(() => {})
    this.#letGo()
    this.#lock?.release()
  }

  async #keep(uuid: string): Promise<void> {
    if (this.#lock) return
    const { lockFolder } = this.#options
    makePrivateFolder(lockFolder)
    const file = path.join(lockFolder, `${uuid}.service`)
    const deadlineMs = performance.now() + LOCK_WAIT_MS
    do {
      this.#lock = FileLock.tryAcquire(file)
      if (this.#lock) return
      await systemClock.sleep(50)
    } while (performance.now() < deadlineMs)
    const holder = lockHolder(file)
    const who = holder === null ? 'in another container' : `process ${holder}`
    throw new PctodlError('BOARD_KEPT', `${uuid} is kept by another service of this machine (${who}); end it first`)
  }

  async #look(ceiling: Ceiling): Promise<BoardLook> {
    try {
      const { device } = this.#board()
      device.powerLimitW()
      await this.#keep(device.uuid)
      const left = this.#lease ? 'nothing' : await this.#putRight()
      // Changes by other programs that cannot be written to the journal now are found again by the next check.
      const others = (await this.#lease?.noticeOthers().catch(() => [])) ?? []
      await this.#keepWithin(ceiling)
      const { enabled = false, instances = [] } = device.mig() ?? {}
      const found = this.#lease?.found ?? null
      return { isDivided: enabled, instances, events: this.#takeEvents(), found, left, others }
    } catch (error) {
      // Closes NVML, so that the next call opens it again once the driver or the board is back.
      if (error instanceof NvmlError && meansGone(error.nvmlCode) && !this.#lease) this.#letGo()
      throw error
    }
  }

  async #release(): Promise<readonly string[]> {
    const lease = this.#lease
    this.#lease = null
    if (!lease) await this.open()
    const others = (await lease?.noticeOthers().catch(() => [])) ?? []
    await lease?.release()
    const left = lease ? 'nothing' : await this.#putRight()
    if (typeof left === 'object') throw new PctodlError('RESTORE_FAILED', left.failed)
    await this.#keepWithin(this.#ceiling).catch(() => {})
    return others
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turns.then(work)
    this.#turns = turn.catch(() => {})
    return turn
  }

  #nvml() {
    return loadNvml(given({ libraryPath: this.#options.libraryPath }))
  }

  #board(): NvmlGpu {
    if (this.#gpu) return this.#gpu
    const nvml = this.#nvml()
    const device = nvml.device(this.#uuid ?? this.#options.board)
    const gpu = new NvmlGpu(nvml, device, { leaseFolder: this.#options.leaseFolder })
    this.#uuid = device.uuid
    this.#standing = noCeiling
    this.#gpu = gpu
    return gpu
  }

  #letGo(): void {
    this.#events?.close()
    this.#events = undefined
    this.#gpu?.nvml.close()
    this.#gpu = null
  }

  #held(): NvmlLease {
    if (this.#lease) return this.#lease
    throw new PctodlError('LEASE_RELEASED', 'the lease has ended with the process that held it; acquire another')
  }

  async #putRight(): Promise<BoardLook['left']> {
    const { device } = this.#board()
    const outcome = await restoreBoard(new LeaseFolder(this.#options.leaseFolder), device.uuid, () => device)
    if (!outcome) return 'nothing'
    if (outcome.outcome === 'failed') return { failed: reasonOf(outcome.error) }
    const { found } = outcome.record ?? {}
    if (found) this.#standing = { smClock: found.smClockLock, memClock: found.memClockLock }
    return outcome.outcome
  }

  /** Enforces the operator's ceiling at once: on the present settings, and on those that a lease will restore. */
  async #keepWithin(ceiling: Ceiling): Promise<void> {
    this.#ceiling = ceiling
    const { device, spec } = this.#board()
    // The board has a lowest power limit. A ceiling below it counts as this limit.
    const powerLimitW = ceiling.powerLimitW === null ? null : Math.max(ceiling.powerLimitW, spec.powerLimitW.min)
    const lease = this.#lease
    const isAbove = (limitW: number | null) => powerLimitW !== null && limitW !== null && limitW > powerLimitW
    const isFoundAbove = isAbove(lease?.found.powerLimitW ?? null)
    const isLocked =
      isSame(this.#standing.smClock, ceiling.smClock) && isSame(this.#standing.memClock, ceiling.memClock)
    if (isLocked && !isFoundAbove && !isAbove(device.powerLimitW())) return
    // Without a lease of the service, a program of root may hold one; then a later check enforces the ceiling.
    const lock = lease ? null : new LeaseFolder(this.#options.leaseFolder).tryLock(device.uuid)
    if (!lease && !lock) return
    try {
      const locks = { smClockLock: ceiling.smClock, memClockLock: ceiling.memClock }
      // A full disk must not disable the ceiling. If the journal cannot be written, it will restore the old value,
      // which the next check lowers.
      unlessFailed(() => lease?.amend({ ...locks, ...(isFoundAbove ? { powerLimitW } : {}) }))
      if (isAbove(device.powerLimitW())) {
        const lower = () => applyChange(device, { kind: 'power-limit', powerLimitW: powerLimitW! })
        // A limit that the lease has not changed is not set through the lease, whose end would undo the change.
        if (lease?.touches('power-limit')) await lease.setPowerLimit(powerLimitW!).catch(lower)
        else await lower()
      }
      if (!isLocked) await this.#lockWithin(ceiling, lease)
    } finally {
      lock?.release()
    }
  }

  async #lockWithin({ smClock, memClock }: Ceiling, lease: NvmlLease | null): Promise<void> {
    const { device } = this.#board()
    // The policy has checked the lease's own lock. Otherwise the ceiling's lock is set, and it outlives the lease.
    const lock = async (kind: 'sm-clock' | 'mem-clock', range: ClockRange | null, before: ClockRange | null) => {
      if (!isSame(range, before) && !lease?.touches(kind)) await applyChange(device, { kind, range })
    }
    await lock('sm-clock', smClock, this.#standing.smClock)
    await lock('mem-clock', memClock, this.#standing.memClock)
    this.#standing = { smClock, memClock }
  }

  #takeEvents(): BoardEvent[] {
    try {
      if (this.#events === undefined) this.#events = NvmlEvents.open(this.#board().device)
      return this.#events?.take() ?? []
    } catch {
      // The board or the driver is lost, and its event set is no longer valid. Other calls report the loss.
      this.#events?.close()
      this.#events = null
      return []
    }
  }
}

function isSame(one: ClockRange | null, other: ClockRange | null): boolean {
  return one?.minMhz === other?.minMhz && one?.maxMhz === other?.maxMhz
}
