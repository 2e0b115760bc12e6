import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import path from 'node:path'
import { MpsDaemon } from '@pctodl/mps-control'
import {
  type BoardChange,
  type FoundState,
  type LeaseReport,
  meansGone,
  NvmlError,
  NvmlEvents,
  type NvmlGpu,
  type NvmlLease,
  type ServiceStatus,
} from '@pctodl/nvml-control'
import { PctodlError } from '@pctodl/platform'
import type { AuditEntry, AuditLog } from './audit-log.js'
import type { Peer } from './peer-credentials.js'
import type { ServiceMetrics } from './service-metrics.js'

/** Who a lease is for. */
export interface Holder {
  readonly peer: Peer
  readonly program: string
  /** Told when the lease ends without the holder's asking. */
  readonly onEnded: (board: string, reason: string) => void
}

interface Held {
  readonly holder: Holder
  readonly lease: NvmlLease
  readonly since: string
  mps: MpsDaemon | null
  /** While its daemon is being started. */
  starting: Promise<unknown> | null
  /** Aborted when the lease ends. */
  readonly leaving: AbortController
  report: LeaseReport | null
  ending: Promise<void> | null
}

export interface BoardKeeperOptions {
  readonly gpu: NvmlGpu
  /** Folder for the places of MPS daemons: root's. */
  readonly mpsFolder: string
  /** The MPS control program: a path, or a name on PATH. */
  readonly mpsProgram?: string | undefined
  readonly audit: AuditLog
  readonly metrics: ServiceMetrics
}

type Condition = ServiceStatus['boards'][number]['condition']

/** One board: who leases it, its MPS daemon, its condition. One lease at a time. */
export class BoardKeeper {
  readonly uuid: string
  readonly index: number
  readonly name: string
  readonly gpu: NvmlGpu
  readonly #options: BoardKeeperOptions
  #held: Held | null = null
  #acquiring = false
  #condition: Condition = 'ok'
  #reason: string | null = null
  /** Null where the board has none, or while it is lost; undefined before the first time. */
  #events: NvmlEvents | null | undefined

  constructor(options: BoardKeeperOptions) {
    const { device } = options.gpu
    this.#options = options
    this.gpu = options.gpu
    this.uuid = device.uuid
    this.index = device.index
    this.name = device.name
    this.#takeEvents()
  }

  get condition(): Condition {
    return this.#condition
  }

  get report(): LeaseReport | null {
    return this.#held?.report ?? null
  }

  get holder(): Holder | null {
    return this.#held?.holder ?? null
  }

  /** How long its lease has lasted, ms; null where it has none. */
  get leasedMs(): number | null {
    return this.#held && Date.now() - Date.parse(this.#held.since)
  }

  get mps(): MpsDaemon | null {
    return this.#held?.mps ?? null
  }

  get state(): ServiceStatus['boards'][number] {
    const held = this.#held
    return {
      uuid: this.uuid,
      index: this.index,
      name: this.name,
      condition: this.#condition,
      reason: this.#reason,
      lease: held && {
        uid: held.holder.peer.uid,
        pid: held.holder.peer.pid,
        program: held.holder.program,
        since: held.since,
        mps: held.mps !== null,
      },
    }
  }

  /** @throws PctodlError `LEASE_HELD`, `GPU_LOST`, `RESTORE_FAILED`, ... */
  async acquire(holder: Holder): Promise<FoundState> {
    // One who is being ended is no reason to refuse the next.
    await this.#held?.ending?.catch(() => {})
    if (this.#held) throw heldBy(this.uuid, this.#held.holder)
    if (this.#acquiring) throw new PctodlError('LEASE_HELD', `${this.uuid} is being leased by another program`)
    this.#acquiring = true
    try {
      const lease = await this.gpu.acquireDirectly()
      // Whatever had been left on it is put right by taking the lease.
      if (this.#condition === 'unrestored') this.#become('ok', null)
      try {
        this.#options.audit.add(this.#entry('lease-acquired', holder))
      } catch (error) {
        await lease.release()
        throw error
      }
      this.#held = {
        holder,
        lease,
        since: new Date().toISOString(),
        mps: null,
        starting: null,
        leaving: new AbortController(),
        report: null,
        ending: null,
      }
      return lease.found
    } finally {
      this.#acquiring = false
    }
  }

  /** @throws PctodlError `LEASE_RELEASED` where this holder has none; what the lease's setter throws */
  async change(holder: Holder, change: BoardChange): Promise<void> {
    const { lease } = this.#heldBy(holder)
    // Before: what cannot be written down is not done. One that the driver refuses is followed by a word of that.
    this.#options.audit.add(this.#entry('changed', holder, JSON.stringify(change)))
    await apply(lease, change)
  }

  found(holder: Holder): FoundState {
    return this.#heldBy(holder).lease.found
  }

  verify(holder: Holder): void {
    this.#heldBy(holder).lease.verify()
  }

  takeReport(holder: Holder, report: LeaseReport): void {
    this.#heldBy(holder).report = report
  }

  /** @throws MpsError; PctodlError `MPS_ALREADY_RUNNING` */
  async startMps(
    holder: Holder,
    defaultPercent: number | undefined,
  ): Promise<{ pid: number; environment: MpsEnvironment }> {
    const held = this.#heldBy(holder)
    if (held.mps || held.starting)
      throw new PctodlError('MPS_ALREADY_RUNNING', `the lease on ${this.uuid} has its MPS daemon already`)
    const starting = this.#startMps(held, defaultPercent)
    held.starting = starting
    try {
      return await starting
    } finally {
      held.starting = null
    }
  }

  async #startMps(
    held: Held,
    defaultPercent: number | undefined,
  ): Promise<{ pid: number; environment: MpsEnvironment }> {
    const { holder } = held
    // A place of its own for each start, so that nothing of an earlier one is met there.
    const { mpsFolder, mpsProgram } = this.#options
    const directory = path.join(mpsFolder, `${this.uuid}.${randomBytes(12).toString('hex')}`)
    const mps = new MpsDaemon({
      directory,
      device: this.gpu.device,
      ...(mpsProgram === undefined ? {} : { program: mpsProgram }),
    })
    try {
      await mps.start({
        uid: holder.peer.uid,
        deviceUuids: [this.uuid],
        signal: held.leaving.signal,
        ...(defaultPercent === undefined ? {} : { defaultPercent }),
      })
    } catch (error) {
      rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
      if (held.leaving.signal.aborted) throw new PctodlError('LEASE_RELEASED', `the lease on ${this.uuid} has ended`)
      throw error
    }
    held.mps = mps
    this.#log('mps-started', holder)
    return { pid: mps.place.daemon()?.pid ?? 0, environment: mps.place.environment }
  }

  async verifyMpsClient(holder: Holder, pid: number): Promise<void> {
    const { mps } = this.#heldBy(holder)
    if (!mps) throw new PctodlError('MPS_NO_DAEMON', `the lease on ${this.uuid} has no MPS daemon`)
    await mps.verifyClient(pid, { timeoutMs: 10_000 })
  }

  async stopMps(holder: Holder, graceMs: number): Promise<string> {
    return this.#stopMps(this.#heldBy(holder), graceMs)
  }

  /**
   * End a lease: its MPS daemon, then the board goes back. Idempotent.
   *
   * @param why null where the holder asked for it
   * @throws RestoreError where the board could not be put back; `tend` goes on trying
   */
  end(holder: Holder, why: string | null): Promise<void> {
    const held = this.#held
    if (held?.holder !== holder) return Promise.resolve()
    held.ending ??= this.#end(held, why)
    return held.ending
  }

  /** Look after the board: is it there, and is all as it was? Told every two seconds. */
  async tend(reinitialize: () => boolean): Promise<void> {
    this.#takeEvents()
    if (this.#isReadable()) {
      if (this.#condition === 'lost') {
        this.#events = undefined
        this.#become('ok', null)
        this.#log('board-found')
      }
      return
    }
    if (this.#condition !== 'lost') {
      this.#become('lost', this.#reason ?? 'it cannot be read')
      this.#log('board-lost')
      const held = this.#held
      if (held) {
        await this.end(held.holder, 'the board is lost').catch(() => {})
        this.#become('lost', 'it cannot be read')
      }
    }
    if (!reinitialize()) return
    try {
      this.gpu.device.renew(this.uuid)
    } catch {
      // Not back yet.
    }
  }

  /** What the driver gave us goes before we begin anew with it; it is asked for again when the board is looked after. */
  letGo(): void {
    this.#events?.close()
    this.#events = undefined
  }

  /** What was left on the board could not be put back; whoever knows says so. */
  markUnrestored(reason: string): void {
    if (this.#condition !== 'lost') this.#become('unrestored', reason)
  }

  markRestored(): void {
    if (this.#condition === 'unrestored') this.#become('ok', null)
  }

  async #end(held: Held, why: string | null): Promise<void> {
    const { holder, lease } = held
    const startedMs = performance.now()
    try {
      // A daemon that is being started has no clients yet, and is ended by its start.
      held.leaving.abort()
      await held.starting?.catch(() => {})
      // Not before: clients would work on without a limit.
      if (held.mps) await this.#stopMps(held, null).catch((error) => this.#log('mps-stopped', holder, String(error)))
      await lease.release()
      this.#options.metrics.restored('ok', performance.now() - startedMs)
      this.#log('lease-ended', holder, why ?? 'released')
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      this.#options.metrics.restored('failed', performance.now() - startedMs)
      this.#become('unrestored', reason)
      this.#log('not-restored', holder, reason)
      throw error
    } finally {
      this.#held = null
      if (why !== null) holder.onEnded(this.uuid, why)
    }
  }

  /** @param graceMs how long its clients may take to leave; null where their owner is gone */
  async #stopMps(held: Held, graceMs: number | null): Promise<string> {
    const { mps } = held
    if (!mps) return 'not-running'
    const how = graceMs === null ? 'cut off' : await mps.stop({ graceMs })
    if (graceMs === null) await mps.cutOff({ all: true })
    held.mps = null
    rmSync(mps.place.directory, { recursive: true, force: true, maxRetries: 5 })
    this.#log('mps-stopped', held.holder, how)
    return how
  }

  #heldBy(holder: Holder): Held {
    const held = this.#held
    if (held?.holder === holder && !held.ending) return held
    throw new PctodlError('LEASE_RELEASED', `this connection has no lease on ${this.uuid}; acquire one`)
  }

  /** What the driver has noticed since the last time. Errors are written down, the rest is counted. */
  #takeEvents(): void {
    const { metrics } = this.#options
    try {
      if (this.#events === undefined) this.#events = NvmlEvents.open(this.gpu.device)
      const errors = new Map<string, number>()
      for (const event of this.#events?.take() ?? []) {
        metrics.happened(this, event)
        if (event.kind === 'clock' || event.kind === 'pstate') continue
        const what = event.xid === null ? event.kind : `XID ${event.xid}`
        errors.set(what, (errors.get(what) ?? 0) + 1)
      }
      const text = [...errors].map(([what, times]) => (times > 1 ? `${what}, ${times} times` : what)).join('; ')
      if (text !== '') this.#log('board-event', this.#held?.holder, text)
    } catch {
      // The board is lost, or the driver gone, and the set with it; whether it is, is found out elsewhere.
      this.#events?.close()
      this.#events = null
    }
  }

  #isReadable(): boolean {
    try {
      this.gpu.device.powerLimitW()
      return true
    } catch (error) {
      this.#reason = error instanceof Error ? error.message : String(error)
      return !(error instanceof NvmlError && meansGone(error.nvmlCode))
    }
  }

  #become(condition: Condition, reason: string | null): void {
    this.#condition = condition
    this.#reason = reason
  }

  /** Of what has happened: a disk that is full must not keep a board from being put back. */
  #log(event: AuditEntry['event'], holder?: Holder, detail?: string): void {
    this.#options.audit.note(this.#entry(event, holder, detail))
  }

  #entry(event: AuditEntry['event'], holder?: Holder, detail?: string): AuditEntry {
    return {
      event,
      board: this.uuid,
      ...(holder ? { peer: holder.peer, program: holder.program } : {}),
      ...(detail === undefined ? {} : { detail }),
    }
  }
}

export type MpsEnvironment = MpsDaemon['place']['environment']

function apply(lease: NvmlLease, change: BoardChange): Promise<void> {
  switch (change.kind) {
    case 'power-limit':
      return lease.setPowerLimit(change.powerLimitW)
    case 'sm-clock':
      return change.range ? lease.lockSmClock(change.range) : lease.resetSmClock()
    case 'mem-clock':
      return change.range ? lease.lockMemClock(change.range.maxMhz) : lease.resetMemClock()
    case 'compute-mode':
      return lease.setComputeMode(change.mode)
    case 'persistence':
      return lease.setPersistence(change.enabled)
  }
}

function heldBy(uuid: string, { peer, program }: Holder): PctodlError {
  return new PctodlError(
    'LEASE_HELD',
    `${uuid} is leased by process ${peer.pid} (${program}) of user ${peer.uid}; wait for it, or end it (its lease ends with it)`,
  )
}
