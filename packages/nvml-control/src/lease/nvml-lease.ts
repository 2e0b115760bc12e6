import { randomUUID } from 'node:crypto'
import { isEnding, onEnding } from '@pctodl/command-line'
import { type GpuSpec, systemClock } from '@pctodl/platform'
import { applyChange, foundState, observe, verifyApplied } from '../control/apply-change.js'
import {
  type BoardChange,
  type ChangeKind,
  type ClockRange,
  changeBack,
  describeChange,
  type FoundState,
  foundAnew,
  isSameChange,
} from '../control/board-change.js'
import type { NvmlDevice } from '../nvml/nvml-device.js'
import { BoardLease } from './board-lease.js'
import type { FileLock } from './file-lock.js'
import { LeaseHeldError, leaseReleased, SetterNotAppliedError } from './lease-errors.js'
import { LeaseFolder } from './lease-folder.js'
import type { LeaseRecord } from './lease-record.js'
import { bootId, processIdentity, programNameOf } from './process-identity.js'
import { isLimitOfAnother, restore, restoreLeftover } from './restore.js'
import { Watchdog } from './watchdog.js'

export interface LeasableBoard {
  readonly device: NvmlDevice
  readonly spec: GpuSpec
  readonly nvml: { readonly libraryPath: string }
}

export interface LeaseOptions {
  /** Folder of lock files and journals. Default: `$PCTODL_LEASE_DIR`, or `defaultLeaseFolder()`. */
  readonly leaseFolder?: string
  /**
   * Clock locks that the operator has set on this board and that `release` must restore. NVML cannot read clock locks,
   * so without this option `release` removes all of them.
   */
  readonly standingLocks?: { readonly smClock?: ClockRange | null; readonly memClock?: ClockRange | null }
  /** Time within which a change must appear in readings, ms. Default 1500. */
  readonly verifyDeadlineMs?: number
  /** Minimum time between two changes of the same setting, ms. Default 20. The firmware needs as much to settle. */
  readonly minSetIntervalMs?: number
}

/** Error codes after which the setting is certainly unchanged. After others, the change may have taken effect. */
const refusals = [
  'NO_PERMISSION',
  'NOT_SUPPORTED',
  'NVML_INVALID_ARGUMENT',
  'NVML_FREQUENCY_NOT_SUPPORTED',
  'NVML_FUNCTION_NOT_FOUND',
]

/** Number of clock readings, `NOTICE_MS` apart, after which another program's lock is assumed. */
const NOTICE_READINGS = 3
const NOTICE_MS = 125

/** Time limit of a release, ms: enough for three attempts at each of five settings with a slow driver. */
const RELEASE_DEADLINE_MS = 10_000

/**
 * The right of this process to change a real board. The original value of a setting is written to disk before the
 * setting is first changed. `release`, the end of the process, the watchdog, or the next program restores it.
 */
export class NvmlLease extends BoardLease {
  readonly path = 'nvml'
  readonly #board: LeasableBoard
  readonly #folder: LeaseFolder
  readonly #lock: FileLock
  readonly #options: LeaseOptions
  #record: LeaseRecord
  #watchdog: Watchdog | undefined
  #released: Promise<void> | undefined
  /** Makes changes run one after another, in the order of the calls. */
  #queue: Promise<void> = Promise.resolve()
  #inFlight = 0
  /** Changes by other programs that `noticeOthers` has not reported yet. */
  readonly #noticed: string[] = []
  readonly #applied = new Map<ChangeKind, BoardChange>()
  /** Clock locks under which the board has been seen running at the lock's maximum. */
  readonly #atTop = new WeakSet<BoardChange>()
  readonly #forgetEnding: () => void
  readonly #changedAtMs = new Map<ChangeKind, number>()

  private constructor(board: LeasableBoard, folder: LeaseFolder, lock: FileLock, options: LeaseOptions) {
    super(board.spec)
    this.#board = board
    this.#folder = folder
    this.#lock = lock
    this.#options = options
    this.#record = newRecord(board.device, options.standingLocks)
    const what = `restoring ${board.device.subject} (\`pctodl gpu restore\` repeats it)`
    this.#forgetEnding = onEnding({ stage: 'board', what, deadlineMs: RELEASE_DEADLINE_MS, end: () => this.release() })
  }

  /**
   * Acquires the exclusive right to change a board. First undoes what an earlier owner left changed.
   * @throws LeaseHeldError naming the current owner; RestoreError if an earlier owner's changes cannot be undone;
   * PctodlError `LEASE_FOLDER` if the lease folder is unusable
   */
  static async acquire(board: LeasableBoard, options: LeaseOptions = {}): Promise<NvmlLease> {
    const { device } = board
    const folder = new LeaseFolder(options.leaseFolder)
    const { uuid } = device
    const lock = folder.tryLock(uuid)
    if (!lock) throw new LeaseHeldError(device.subject, folder.holder(uuid))
    try {
      await restoreLeftover(folder, device)
      return new NvmlLease(board, folder, lock, options)
    } catch (error) {
      lock.release()
      throw error
    }
  }

  get found(): FoundState {
    return this.#record.found
  }

  get watchdogPid(): number | null {
    return this.#watchdog?.pid ?? null
  }

  /** Checks that all settings are in force, a clock lock only on a busy board. @throws SetterNotAppliedError */
  verify(): void {
    this.#assertHeld()
    const { device } = this.#board
    for (const change of this.#applied.values()) {
      const { applied, text } = observe(device, change)
      if (!applied) throw new SetterNotAppliedError(device.subject, change, text, this.#sinceMs(change.kind))
    }
  }

  /** Whether this lease has changed the setting and will restore it. */
  touches(kind: ChangeKind): boolean {
    return this.#record.touched.includes(kind)
  }

  /** Replaces the values that `release` restores, for an operator who changes them during the lease. */
  amend(found: Partial<FoundState>): void {
    this.#record = { ...this.#record, found: { ...this.found, ...found } }
    if (this.#record.touched.length > 0) this.#folder.write(this.#record)
  }

  /** Returns the settings that another program has changed meanwhile. `release` does not restore them. */
  async noticeOthers(): Promise<string[]> {
    this.noticeLimit()
    const noticed = this.#noticed.splice(0)
    for (const change of [...this.#applied.values()]) {
      if (change.kind === 'power-limit' || !(await this.#isOfAnother(change))) continue
      this.#forget(change.kind)
      noticed.push(`no longer ${describeChange(change)}`)
    }
    return noticed
  }

  /** @throws RestoreError if the board could not be restored; the journal then remains, and the watchdog tries again */
  release(): Promise<void> {
    this.#released ??= this.#release()
    return this.#released
  }

  /**
   * Whether another program has changed a mode or locked a clock. NVML cannot read clock locks, so several clock
   * readings decide. Unless an event reason lowers the clock, a busy board runs at the maximum of its lock.
   *
   * Another program's lock is assumed in two cases: all readings are outside this lease's range; or all are equal and
   * below its maximum, although the board has run at the maximum before.
   */
  async #isOfAnother(change: BoardChange): Promise<boolean> {
    const { device } = this.#board
    const belowMhz = new Set<number>()
    for (let reading = 0; reading < NOTICE_READINGS; reading++) {
      if (reading > 0) await systemClock.sleep(NOTICE_MS)
      if (this.#inFlight > 0 || this.#applied.get(change.kind) !== change) return false
      const { applied, place, clockMhz } = observe(device, change)
      if (place === undefined) return !applied
      if (place === 'top') this.#atTop.add(change)
      if (place === 'below') belowMhz.add(clockMhz!)
      if (applied && !(place === 'below' && this.#atTop.has(change))) return false
    }
    return belowMhz.size <= 1
  }

  /**
   * If another program has set the power limit, `release` will restore its limit. Does nothing during our own change.
   */
  noticeLimit(): void {
    const { device } = this.#board
    if (this.#inFlight > 0 || !this.touches('power-limit') || !isLimitOfAnother(device, this.#record)) return
    const powerLimitW = device.powerLimitW()
    this.#forget('power-limit')
    this.amend({ powerLimitW })
    this.#noticed.push(describeChange({ kind: 'power-limit', powerLimitW }))
  }

  async #release(): Promise<void> {
    await this.#queue
    try {
      if (this.#record.touched.length > 0) await restore(this.#board.device, this.#record, this.#folder)
    } finally {
      this.#lock.release()
      this.#watchdog?.dismiss()
      this.#forgetEnding()
    }
  }

  protected perform(change: BoardChange): Promise<void> {
    // The program is ending, and no caller waits for the result. The promise never settles, so that no error appears.
    if (isEnding()) return new Promise(() => {})
    this.#assertHeld()
    const result = this.#queue.then(() => this.#perform(change))
    this.#queue = result.catch(() => {})
    return result
  }

  async #perform(change: BoardChange): Promise<void> {
    const { device } = this.#board
    if (change.kind === 'power-limit') this.noticeLimit()
    if (this.isInForce(change)) return
    const waitMs = (this.#options.minSetIntervalMs ?? 20) - this.#sinceMs(change.kind)
    if (waitMs > 0) await systemClock.sleep(waitMs)
    const isFirst = !this.touches(change.kind)
    await this.#writeAhead(change)
    this.#applied.delete(change.kind)
    this.#inFlight++
    try {
      await applyChange(device, change)
    } catch (error) {
      if (isFirst && refusals.includes((error as { readonly code?: string }).code ?? '')) this.#forget(change.kind)
      throw error
    } finally {
      this.#inFlight--
      this.#changedAtMs.set(change.kind, systemClock.now())
    }
    try {
      await verifyApplied(device, change, { clock: systemClock, deadlineMs: this.#options.verifyDeadlineMs ?? 1500 })
    } catch (error) {
      // The driver may have set another limit than the requested one. So every limit now counts as set by this lease.
      if (change.kind === 'power-limit') this.#record = { ...this.#record, setLimitsW: undefined }
      throw error
    }
    this.#applied.set(change.kind, change)
    if (observe(device, change).place === 'top') this.#atTop.add(change)
  }

  /**
   * Whether a change is already in force, so that the driver need not be called. The clock lock that the operator
   * declared counts as in force until this lease sets another: locks cannot be read.
   */
  isInForce(change: BoardChange): boolean {
    const before = this.#applied.get(change.kind)
    if ('range' in change) {
      const last = before ?? (this.touches(change.kind) ? null : changeBack(change.kind, this.found))
      return isSameChange(last, change)
    }
    return observe(this.#board.device, change).applied
  }

  #sinceMs(kind: ChangeKind): number {
    return systemClock.now() - (this.#changedAtMs.get(kind) ?? Number.NEGATIVE_INFINITY)
  }

  /** Starts the watchdog before the original value is written to disk: there is never a journal without a watchdog. */
  async #writeAhead(change: BoardChange): Promise<void> {
    const { device, nvml } = this.#board
    const { touched, gpu, leaseId } = this.#record
    const isFirst = !touched.includes(change.kind)
    const isLimit = change.kind === 'power-limit'
    if (!isLimit && !isFirst) return
    const restoreArguments = [this.#folder.path, gpu.uuid, leaseId, nvml.libraryPath]
    this.#watchdog ??= await Watchdog.start(this.#folder.journalFile(gpu.uuid), restoreArguments)
    const record = { ...this.#record, touched: isFirst ? [...touched, change.kind] : touched }
    // The operator may have changed this setting after `acquire`. Then the operator's new value is the one to restore.
    if (isFirst) record.found = foundAnew(record.found, change.kind, foundState(device, record.found))
    // Until the new limit is applied, the previous one may still be in force.
    if (isLimit) record.setLimitsW = [device.powerLimitW(), change.powerLimitW]
    this.#folder.write(record, isFirst)
    this.#record = record
  }

  /** Lets `release` not restore a setting that another program has changed, or that the driver refused to change. */
  #forget(kind: ChangeKind): void {
    this.#applied.delete(kind)
    const record = { ...this.#record, touched: this.#record.touched.filter((each) => each !== kind) }
    if (record.touched.length > 0) this.#folder.write(record)
    else this.#folder.remove(record.gpu.uuid)
    this.#record = record
  }

  #assertHeld(): void {
    if (this.#released) throw leaseReleased(this.#board.device.subject)
  }
}

function newRecord(device: NvmlDevice, standing: LeaseOptions['standingLocks']): LeaseRecord {
  const { pid } = process
  return {
    format: 'pctodl-lease',
    version: 1,
    leaseId: randomUUID(),
    gpu: { uuid: device.uuid, index: device.index, name: device.name },
    owner: {
      pid,
      startTime: processIdentity(pid)?.startTime ?? 0,
      bootId: bootId(),
      uid: process.getuid?.() ?? 0,
      program: programNameOf(pid) ?? '',
    },
    acquiredAt: new Date().toISOString(),
    found: foundState(device, { smClockLock: standing?.smClock ?? null, memClockLock: standing?.memClock ?? null }),
    touched: [],
  }
}
