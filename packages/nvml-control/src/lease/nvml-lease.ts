import { type Ending, isEnding, onEnding } from '@pctodl/command-line'
import { type Clock, type GpuSpec, InvalidInputError } from '@pctodl/platform'
import { applyChange } from '../control/apply-change.js'
import {
  type BoardChange,
  type ChangeKind,
  type ClockRange,
  describeChange,
  isClockLock,
} from '../control/board-change.js'
import { type ComputeMode, settableComputeModes } from '../nvml/compute-mode.js'
import type { NvmlDevice } from '../nvml/nvml-device.js'
import { memClockChange, memClockInForce, resetChange, smClockChange } from './asked-change.js'
import type { BoardLease } from './board-lease.js'
import type { FileLock } from './file-lock.js'
import { leaseReleased, SetterNotAppliedError } from './lease-errors.js'
import type { LeaseFolder } from './lease-folder.js'
import type { FoundState, LeaseRecord } from './lease-record.js'
import { isLimitOfAnother, restore, restoreSync } from './restore.js'
import { noteFailure } from './restore-leftovers.js'
import { observe, verifyApplied } from './verify.js'
import { Watchdog } from './watchdog.js'

export interface LeasableBoard {
  readonly device: NvmlDevice
  readonly spec: GpuSpec
  readonly clock: Clock
  /** NVML's, for the watchdog. */
  readonly libraryPath: string
}

export interface LeasedBoard extends LeasableBoard {
  readonly folder: LeaseFolder
  readonly lock: FileLock
  readonly record: LeaseRecord
  readonly verifyDeadlineMs: number
  readonly minSetIntervalMs: number
}

/** Answers of a driver that has not even begun. After any other failure a change may be in force. */
const refusals = [
  'NO_PERMISSION',
  'NOT_SUPPORTED',
  'NVML_INVALID_ARGUMENT',
  'NVML_FREQUENCY_NOT_SUPPORTED',
  'NVML_FUNCTION_NOT_FOUND',
]

/** After this time a clock that did not show its lock is looked at once more, ms. */
const NOTICE_MS = 250

/** Three attempts at each of five settings, with a driver that takes its time. */
const RELEASE_DEADLINE_MS = 10_000

/**
 * The right to change a real board. Before the first change of each setting it writes down, to the disk, what it found;
 * `release`, the end of the process, a watchdog, or the next program puts exactly that back.
 */
export class NvmlLease implements BoardLease {
  readonly path = 'nvml'
  readonly #board: LeasedBoard
  #record: LeaseRecord
  #watchdog: Watchdog | undefined
  #state: 'held' | 'releasing' | 'released' = 'held'
  #released: Promise<void> | undefined
  /** Changes one after the other, in the order of the calls. */
  #queue: Promise<void> = Promise.resolve()
  #inFlight = 0
  /** What other programs have changed, until somebody asks. */
  readonly #noticed: string[] = []
  readonly #applied = new Map<ChangeKind, BoardChange>()
  readonly #forgetEnding: () => void
  readonly #changedAtMs = new Map<ChangeKind, number>()

  constructor(board: LeasedBoard) {
    this.#board = board
    this.#record = board.record
    const ending: Ending = {
      stage: 'board',
      what: `${board.device.subject}: putting it back (\`pctodl gpu restore\` does it, should the watchdog not)`,
      deadlineMs: RELEASE_DEADLINE_MS,
      end: () => this.release(),
      endAtExit: () => this.#releaseAtExit(),
    }
    this.#forgetEnding = onEnding(ending)
  }

  /** What the board was set to when the lease began, and what will be put back. */
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

  /** Give the SM clock back to the firmware, or to the standing lock that the lease was told of. */
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

  /** Set the board's default limit. (`release` sets the one that was found, which may be another.) */
  resetPowerLimit(): Promise<void> {
    return this.#reset('power-limit')
  }

  async setComputeMode(mode: ComputeMode): Promise<void> {
    if (!(settableComputeModes as readonly string[]).includes(mode)) {
      throw new InvalidInputError('computeMode', mode, `one of ${settableComputeModes.join(', ')}`)
    }
    await this.#change({ kind: 'compute-mode', mode })
  }

  /** Back to the mode that was found. */
  resetComputeMode(): Promise<void> {
    return this.#reset('compute-mode')
  }

  /** Whether the driver stays loaded without a client; without it, locks may vanish while nobody uses the board. */
  async setPersistence(enabled: boolean): Promise<void> {
    await this.#change({ kind: 'persistence', enabled })
  }

  /** Back to what was found. */
  resetPersistence(): Promise<void> {
    return this.#reset('persistence')
  }

  /**
   * Check that all that was set still shows: a lock set on an idle board can be judged only once the board is busy.
   *
   * @throws SetterNotAppliedError for the first setting that does not show
   */
  verify(): void {
    this.#assertHeld()
    const { device } = this.#board
    for (const change of this.#applied.values()) {
      const { applied, text } = observe(device, change)
      if (!applied) throw new SetterNotAppliedError(device.subject, change, text, this.#sinceMs(change.kind))
    }
  }

  /** Whether it has set this, and so will put it back. */
  touches(kind: ChangeKind): boolean {
    return this.#record.touched.includes(kind)
  }

  /** What the board goes back to, from now on: its operator may say something else while the lease is held. */
  amend(found: Partial<FoundState>): void {
    this.#record = { ...this.#record, found: { ...this.found, ...found } }
    if (this.#record.touched.length > 0) this.#board.folder.write(this.#record)
  }

  /**
   * Settings that another program has changed since this lease set them. They are that program's from now on: `release` keeps them.
   *
   * @throws NvmlError
   */
  async noticeOthers(): Promise<string[]> {
    if (this.#inFlight === 0) this.#noticeLimit()
    const { device } = this.#board
    const noticed = this.#noticed.splice(0)
    for (const change of [...this.#applied.values()].filter(isClockLock)) {
      // A lock cannot be read, only what the board does under it: once may be a moment of transition.
      if (this.#inFlight > 0 || observe(device, change).applied) continue
      await this.#board.clock.sleep(NOTICE_MS)
      if (this.#applied.get(change.kind) !== change || observe(device, change).applied) continue
      this.#forget(change.kind)
      noticed.push(`no longer ${describeChange(change)}`)
    }
    return noticed
  }

  /** @throws RestoreError where the board could not be put back; the journal then stays, and the watchdog tries again */
  release(): Promise<void> {
    this.#released ??= this.#release()
    return this.#released
  }

  #noticeLimit(): void {
    const { device } = this.#board
    if (!this.#record.touched.includes('power-limit') || !isLimitOfAnother(device, this.#record)) return
    const powerLimitW = device.powerLimitW()
    this.#forget('power-limit')
    this.amend({ powerLimitW })
    this.#noticed.push(describeChange({ kind: 'power-limit', powerLimitW }))
  }

  #releaseAtExit(): void {
    if (this.#state === 'released') return
    // A change that is still on its way to the driver would land after us: then only the watchdog comes last for sure.
    if (this.#inFlight > 0) return
    try {
      if (this.#record.touched.length > 0) restoreSync(this.#board.device, this.#record)
      this.#board.folder.remove(this.#record.gpu.uuid)
    } catch (error) {
      process.stderr.write(`pctodl: ${error instanceof Error ? error.message : String(error)}\n`)
    }
  }

  async #release(): Promise<void> {
    this.#state = 'releasing'
    await this.#queue
    const { device, folder, lock } = this.#board
    try {
      if (this.#record.touched.length > 0) {
        this.#inFlight++
        try {
          await restore(device, this.#record)
        } finally {
          this.#inFlight--
        }
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

  /** Queue a change behind those that were asked for before it. */
  #change(change: BoardChange): Promise<void> {
    // The program has been told to end, and nobody waits for an answer any more: least of all for an error.
    if (isEnding()) return new Promise(() => {})
    this.#assertHeld()
    const result = this.#queue.then(() => this.#perform(change))
    this.#queue = result.catch(() => {})
    return result
  }

  async #perform(change: BoardChange): Promise<void> {
    const { device, clock, verifyDeadlineMs } = this.#board
    if (change.kind === 'power-limit') this.#noticeLimit()
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
      // What the driver has made of it is ours, too.
      if (change.kind === 'power-limit') this.#record = { ...this.#record, setLimitsW: undefined }
      throw error
    }
    this.#applied.set(change.kind, change)
  }

  /** Asking for what is so already costs the driver nothing, and takes away no lock of the operator's that nobody can read. */
  isInForce(change: BoardChange): boolean {
    const before = this.#applied.get(change.kind)
    if (isClockLock(change)) {
      if (change.range === null && !this.#record.touched.includes(change.kind)) return true
      const range = before && 'range' in before ? before.range : undefined
      return range !== undefined && range?.minMhz === change.range?.minMhz && range?.maxMhz === change.range?.maxMhz
    }
    return observe(this.#board.device, change).applied
  }

  /** Firmware that is asked to change faster than it can settle does neither well. */
  async #keepDistance(kind: ChangeKind): Promise<void> {
    const waitMs = this.#board.minSetIntervalMs - this.#sinceMs(kind)
    if (waitMs > 0) await this.#board.clock.sleep(waitMs)
  }

  #sinceMs(kind: ChangeKind): number {
    return this.#board.clock.now() - (this.#changedAtMs.get(kind) ?? Number.NEGATIVE_INFINITY)
  }

  /**
   * Nothing changes before somebody watches and it is on the disk what to put back. In this order: a journal that nobody
   * watches would stay for the next program to find.
   */
  async #writeAhead(change: BoardChange): Promise<void> {
    const { folder, libraryPath } = this.#board
    const { touched } = this.#record
    const isLimit = change.kind === 'power-limit'
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
    if (isLimit) {
      const beforeW = this.#board.device.powerLimitW()
      // What the operator has set since the lease was acquired is what it finds.
      if (isFirst) record.found = { ...record.found, powerLimitW: beforeW }
      // Until the change shows, the one before it may still be in force.
      record.setLimitsW = [beforeW, change.powerLimitW]
    }
    folder.write(record, isFirst)
    this.#record = record
  }

  /**
   * A setting that needs no putting back: another program's by now, or one that was refused outright, for whoever may not change a board
   * could not put it back either.
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
