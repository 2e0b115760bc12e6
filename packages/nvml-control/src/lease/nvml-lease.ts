import { isEnding, onEnding } from '@pctodl/command-line'
import { type Clock, type GpuSpec, InvalidInputError } from '@pctodl/platform'
import { applyChange } from '../control/apply-change.js'
import {
  type BoardChange,
  type ChangeKind,
  type ClockRange,
  describeChange,
  isClockLock,
  isSameChange,
} from '../control/board-change.js'
import { type ComputeMode, settableComputeModes } from '../nvml/compute-mode.js'
import type { NvmlDevice } from '../nvml/nvml-device.js'
import { changeBack, memClockChange, memClockInForce, resetChange, smClockChange } from './asked-change.js'
import type { BoardLease } from './board-lease.js'
import type { FileLock } from './file-lock.js'
import { foundAnew } from './found-state.js'
import { leaseReleased, SetterNotAppliedError } from './lease-errors.js'
import type { LeaseFolder } from './lease-folder.js'
import type { FoundState, LeaseRecord } from './lease-record.js'
import { isLimitOfAnother, restore } from './restore.js'
import { noteFailure } from './restore-leftovers.js'
import { observe, verifyApplied } from './verify.js'
import { Watchdog } from './watchdog.js'

export interface LeasableBoard {
  readonly device: NvmlDevice
  readonly spec: GpuSpec
  readonly clock: Clock
  /** Path of the NVML library, for the watchdog. */
  readonly libraryPath: string
}

export interface LeasedBoard extends LeasableBoard {
  readonly folder: LeaseFolder
  readonly lock: FileLock
  readonly record: LeaseRecord
  readonly verifyDeadlineMs: number
  readonly minSetIntervalMs: number
}

/** Errors that guarantee that nothing was changed. After any other failure a change may be in force. */
const refusals = [
  'NO_PERMISSION',
  'NOT_SUPPORTED',
  'NVML_INVALID_ARGUMENT',
  'NVML_FREQUENCY_NOT_SUPPORTED',
  'NVML_FUNCTION_NOT_FOUND',
]

/** Readings, `NOTICE_MS` apart, by which a clock counts as locked by another program. */
const NOTICE_READINGS = 3
const NOTICE_MS = 125

/** Enough for three attempts at each of five settings with a slow driver. */
const RELEASE_DEADLINE_MS = 10_000

/**
 * The right to change a real board. Before the first change of each setting, its old value is written to disk. That
 * value is restored by `release`, by the end of the process, by a watchdog, or by the next program.
 */
export class NvmlLease implements BoardLease {
  readonly path = 'nvml'
  readonly #board: LeasedBoard
  #record: LeaseRecord
  #watchdog: Watchdog | undefined
  #state: 'held' | 'releasing' | 'released' = 'held'
  #released: Promise<void> | undefined
  /** Runs changes one after the other, in call order. */
  #queue: Promise<void> = Promise.resolve()
  #inFlight = 0
  /** Changes by other programs that `noticeOthers` has not reported yet. */
  readonly #noticed: string[] = []
  readonly #applied = new Map<ChangeKind, BoardChange>()
  /** Locks under which the board has run at their top. */
  readonly #atTop = new WeakSet<BoardChange>()
  readonly #forgetEnding: () => void
  readonly #changedAtMs = new Map<ChangeKind, number>()

  constructor(board: LeasedBoard) {
    this.#board = board
    this.#record = board.record
    this.#forgetEnding = onEnding({
      stage: 'board',
      what: `${board.device.subject}: putting it back (\`pctodl gpu restore\` does it, should the watchdog not)`,
      deadlineMs: RELEASE_DEADLINE_MS,
      end: () => this.release(),
    })
  }

  /** The board's settings when the lease began, which will be restored. */
  get found(): FoundState {
    return this.#record.found
  }

  /** Process id of the watchdog; null before the first change. */
  get watchdogPid(): number | null {
    return this.#watchdog?.pid ?? null
  }

  async lockSmClock(clock: number | ClockRange): Promise<void> {
    await this.#change(smClockChange(this.#board.spec, this.#memClockInForceMhz(), clock))
  }

  /** Return the SM clock to the firmware, or to the standing lock given to the lease. */
  resetSmClock(): Promise<void> {
    return this.#reset('sm-clock')
  }

  async lockMemClock(memClockMhz: number): Promise<void> {
    await this.#change(memClockChange(this.#board.spec, memClockMhz))
  }

  resetMemClock(): Promise<void> {
    return this.#reset('mem-clock')
  }

  async setPowerLimit(powerLimitW: number): Promise<void> {
    const { min, max } = this.#board.spec.powerLimitW
    if (!(powerLimitW >= min && powerLimitW <= max)) {
      throw new InvalidInputError(
        'powerLimitW',
        powerLimitW,
        `a limit of ${min} to ${max} W on ${this.#board.spec.name}`,
      )
    }
    await this.#change({ kind: 'power-limit', powerLimitW })
  }

  /** Set the board's default limit. (`release` restores the one that was found, which may differ.) */
  resetPowerLimit(): Promise<void> {
    return this.#reset('power-limit')
  }

  async setComputeMode(mode: ComputeMode): Promise<void> {
    if (!(settableComputeModes as readonly string[]).includes(mode)) {
      throw new InvalidInputError('computeMode', mode, `one of ${settableComputeModes.join(', ')}`)
    }
    await this.#change({ kind: 'compute-mode', mode })
  }

  /** Restore the compute mode that was found. */
  resetComputeMode(): Promise<void> {
    return this.#reset('compute-mode')
  }

  /**
   * Set whether the driver stays loaded without a client. Without persistence, locks may vanish while nobody uses the
   * board.
   */
  async setPersistence(enabled: boolean): Promise<void> {
    await this.#change({ kind: 'persistence', enabled })
  }

  /** Restore the persistence mode that was found. */
  resetPersistence(): Promise<void> {
    return this.#reset('persistence')
  }

  /**
   * Check that all settings are still in force. A lock set on an idle board can be judged only once the board is busy.
   *
   * @throws SetterNotAppliedError for the first setting that is not in force
   */
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

  /** Replace values to restore: the operator may change them while the lease is held. */
  amend(found: Partial<FoundState>): void {
    this.#record = { ...this.#record, found: { ...this.found, ...found } }
    if (this.#record.touched.length > 0) this.#board.folder.write(this.#record)
  }

  /**
   * Settings that another program has changed since this lease set them. They now belong to that program, so `release`
   * leaves them alone.
   *
   * @throws NvmlError
   */
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

  /** @throws RestoreError if the board could not be restored; the journal then stays, and the watchdog tries again */
  release(): Promise<void> {
    this.#released ??= this.#release()
    return this.#released
  }

  /**
   * Whether another program has changed a mode or a clock. Locks cannot be read, but a board that nothing holds below runs at the
   * top of its lock. So another clock is another's lock: outside ours in any case, within it once the board has run at
   * the top; and if below, only if it stays the same.
   */
  async #isOfAnother(change: BoardChange): Promise<boolean> {
    const { device, clock } = this.#board
    const belowMhz = new Set<number>()
    for (let reading = 0; reading < NOTICE_READINGS; reading++) {
      if (reading > 0) await clock.sleep(NOTICE_MS)
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
   * A power limit that another program has set is what to restore from now on. While a change of ours is on its way,
   * the reading proves nothing.
   *
   * @throws NvmlError
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
    this.#state = 'releasing'
    await this.#queue
    const { device, folder, lock } = this.#board
    try {
      if (this.#record.touched.length > 0) {
        await restore(device, this.#record)
        folder.remove(this.#record.gpu.uuid)
      }
    } catch (error) {
      noteFailure(folder, this.#record, error)
      throw error
    } finally {
      this.#state = 'released'
      lock.release()
      this.#watchdog?.dismiss()
      this.#forgetEnding()
    }
  }

  async #reset(kind: ChangeKind): Promise<void> {
    const change = resetChange(kind, this.#board.spec, this.found)
    if (change) await this.#change(change)
  }

  /** Queue a change after those requested earlier. */
  #change(change: BoardChange): Promise<void> {
    // The program is ending and nobody awaits the result, so never settle, not even with an error.
    if (isEnding()) return new Promise(() => {})
    this.#assertHeld()
    const result = this.#queue.then(() => this.#perform(change))
    this.#queue = result.catch(() => {})
    return result
  }

  async #perform(change: BoardChange): Promise<void> {
    const { device, clock, verifyDeadlineMs } = this.#board
    if (change.kind === 'power-limit') this.noticeLimit()
    if (this.isInForce(change)) return
    await this.#keepDistance(change.kind)
    const isFirst = !this.#record.touched.includes(change.kind)
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
      this.#changedAtMs.set(change.kind, clock.now())
    }
    try {
      await verifyApplied(device, change, { clock, deadlineMs: verifyDeadlineMs })
    } catch (error) {
      // After a failed check, any limit that the driver made of the request counts as ours.
      if (change.kind === 'power-limit') this.#record = { ...this.#record, setLimitsW: undefined }
      throw error
    }
    this.#applied.set(change.kind, change)
    if (observe(device, change).place === 'top') this.#atTop.add(change)
  }

  /**
   * Whether a change is already in force. Skipping it saves a driver call. A clock lock that was found counts as in
   * force until this lease sets another: it may have given way to one of the operator's, which cannot be read.
   */
  isInForce(change: BoardChange): boolean {
    const before = this.#applied.get(change.kind)
    if (isClockLock(change)) {
      const last = before ?? (this.touches(change.kind) ? null : changeBack(change.kind, this.found))
      return isSameChange(last, change)
    }
    return observe(this.#board.device, change).applied
  }

  /** Enforce the minimum interval between changes: firmware does not settle if changed too fast. */
  async #keepDistance(kind: ChangeKind): Promise<void> {
    const waitMs = this.#board.minSetIntervalMs - this.#sinceMs(kind)
    if (waitMs > 0) await this.#board.clock.sleep(waitMs)
  }

  #sinceMs(kind: ChangeKind): number {
    return this.#board.clock.now() - (this.#changedAtMs.get(kind) ?? Number.NEGATIVE_INFINITY)
  }

  /**
   * Before the first change, start the watchdog and then write the old value to disk. In this order, no journal exists
   * without a watchdog.
   */
  async #writeAhead(change: BoardChange): Promise<void> {
    const { folder, libraryPath } = this.#board
    const { touched } = this.#record
    const isLimit = change.kind === 'power-limit'
    const { device } = this.#board
    if (!isLimit && touched.includes(change.kind)) return
    const { gpu, leaseId } = this.#record
    this.#watchdog ??= await Watchdog.start({
      journalFile: folder.journalFile(gpu.uuid),
      unfinishedFile: folder.unfinishedFile(gpu.uuid, leaseId),
      leaseFolder: folder.path,
      uuid: gpu.uuid,
      leaseId,
      libraryPath,
    })
    const isFirst = !touched.includes(change.kind)
    const record = { ...this.#record, touched: isFirst ? [...touched, change.kind] : touched }
    // What the operator has set since `acquire` is what to restore.
    if (isFirst) record.found = foundAnew(record.found, change.kind, device)
    // Until the change shows, the previous limit may still be in force.
    if (isLimit) record.setLimitsW = [device.powerLimitW(), change.powerLimitW]
    folder.write(record, isFirst)
    this.#record = record
  }

  /**
   * Stop tracking a setting that needs no restoring: another program owns it now, or the driver refused the change (and
   * would refuse the restoration too).
   */
  #forget(kind: ChangeKind): void {
    const { folder } = this.#board
    this.#applied.delete(kind)
    const record = { ...this.#record, touched: this.#record.touched.filter((each) => each !== kind) }
    if (record.touched.length > 0) folder.write(record)
    else folder.remove(record.gpu.uuid)
    this.#record = record
  }

  #memClockInForceMhz(): number {
    const change = this.#applied.get('mem-clock')
    return memClockInForce(
      this.#board.spec,
      this.found,
      change?.kind === 'mem-clock' ? change.range?.maxMhz : undefined,
    )
  }

  #assertHeld(): void {
    if (this.#state !== 'held') throw leaseReleased(this.#board.device.subject)
  }
}
