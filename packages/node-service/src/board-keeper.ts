import {
  type BoardChange,
  describeChange,
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
import { HeldLease, type HeldLeaseOptions, type Holder, isSameProgram } from './held-lease.js'
import { Instances } from './instances.js'
import type { ServiceMetrics } from './service-metrics.js'

type Condition = ServiceStatus['boards'][number]['condition']

export interface BoardKeeperOptions {
  readonly gpu: NvmlGpu
  /** Folder for the places of MPS daemons: root's. */
  readonly mpsFolder: string
  /** The MPS control program: a path, or a name on PATH. */
  readonly mpsProgram?: string | undefined
  readonly audit: AuditLog
  readonly metrics: ServiceMetrics
}

/**
 * One board: who leases it or its MIG instances, its condition.
 *
 * A lease is of the whole board, or of one instance. Clocks, limits and modes are the board's, so only a lease of the board changes
 * them; it and the leases of instances keep each other out, unless both are one program's. Whoever holds any of them holds the board's
 * own lease, by which root's programs beside the service are kept out.
 */
export class BoardKeeper {
  readonly uuid: string
  readonly index: number
  readonly name: string
  readonly gpu: NvmlGpu
  readonly instances: Instances
  readonly #options: BoardKeeperOptions
  /** By what they are of: the board's UUID, or an instance's. */
  readonly #held = new Map<string, HeldLease>()
  /** The right to change the board; ours while anything of it is held. */
  #lease: NvmlLease | null = null
  /** One after the other takes or gives back the board. */
  #turns: Promise<unknown> = Promise.resolve()
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
    this.instances = new Instances(device)
    this.#takeEvents()
  }

  get condition(): Condition {
    return this.#condition
  }

  /** All leases, of the board and of its instances. */
  get leases(): readonly HeldLease[] {
    return [...this.#held.values()]
  }

  /** The board, and what of it can be leased by itself, each with its lease. */
  get targets(): readonly { readonly uuid: string; readonly lease: HeldLease | null }[] {
    const uuids = new Set([this.uuid, ...this.instances.all.map(({ uuid }) => uuid), ...this.#held.keys()])
    return [...uuids].map((uuid) => ({ uuid, lease: this.#held.get(uuid) ?? null }))
  }

  get state(): ServiceStatus['boards'][number] {
    return {
      uuid: this.uuid,
      index: this.index,
      name: this.name,
      condition: this.#condition,
      reason: this.#reason,
      lease: stateOf(this.#held.get(this.uuid)),
      instances: this.instances.all.map(({ uuid, name }) => ({ uuid, name, lease: stateOf(this.#held.get(uuid)) })),
    }
  }

  /** Whether this very lease is held, and not being ended. */
  holds(target: string, holder: Holder): boolean {
    const held = this.#held.get(target)
    return held?.holder === holder && !held.ending
  }

  /** Whether a UUID is this board's, or that of one of its instances, or of one that was and is still leased. */
  has(target: string): boolean {
    return target === this.uuid || this.#held.has(target) || this.instances.find(target) !== undefined
  }

  /** @throws PctodlError `LEASE_HELD`, `NO_SUCH_BOARD`, `GPU_LOST`, `RESTORE_FAILED`, ... */
  async acquire(target: string, holder: Holder): Promise<FoundState> {
    // One who is being ended is no reason to refuse the next.
    await Promise.all(this.#inTheWay(target, holder).map(({ ending }) => ending?.catch(() => {})))
    return this.#inTurn(async () => {
      const [other] = this.#inTheWay(target, holder)
      if (other) throw heldBy(target, other)
      const device = this.#deviceOf(target)
      const lease = await this.#take(target)
      // Whatever had been left on it is put right by taking the lease.
      if (this.#condition === 'unrestored') this.#become('ok', null)
      try {
        this.#options.audit.add(this.#entry('lease-acquired', holder, undefined, target))
      } catch (error) {
        if (this.#held.size === 0) await this.#giveBack()
        throw error
      }
      const { mpsFolder, mpsProgram } = this.#options
      const onMps = (event: 'mps-started' | 'mps-stopped', detail?: string) => this.#log(event, holder, detail, target)
      this.#held.set(target, new HeldLease({ target, holder, device, mpsFolder, mpsProgram, onMps }))
      return lease.found
    })
  }

  /** Only a lease of the whole board changes it. @throws PctodlError `INSTANCE_LEASE` */
  assertWhole(target: string, change: BoardChange): void {
    if (target === this.uuid) return
    throw new PctodlError(
      'INSTANCE_LEASE',
      `${target} is a part of ${this.uuid}: clocks, power limit, compute mode and persistence are the whole board's; to set ` +
        `${describeChange(change)}, acquire ${this.uuid}, too`,
    )
  }

  /**
   * @throws PctodlError `LEASE_RELEASED` where this holder has none, `INSTANCE_LEASE` where it is of an instance; what the lease's
   *   setter throws
   */
  async change(target: string, holder: Holder, change: BoardChange): Promise<void> {
    this.assertWhole(target, change)
    const lease = this.#leaseOf(target, holder)
    // Before: what cannot be written down is not done. One that the driver refuses is followed by a word of that.
    this.#options.audit.add(this.#entry('changed', holder, JSON.stringify(change)))
    await apply(lease, change)
  }

  /** What the lease found. @throws PctodlError `LEASE_RELEASED` */
  found(target: string, holder: Holder): FoundState {
    return this.#leaseOf(target, holder).found
  }

  /** @throws PctodlError `LEASE_RELEASED`, SetterNotAppliedError */
  verify(target: string, holder: Holder): void {
    const lease = this.#leaseOf(target, holder)
    // Whoever holds an instance has set nothing.
    if (target === this.uuid) lease.verify()
  }

  /** @throws PctodlError `LEASE_RELEASED` */
  takeReport(target: string, holder: Holder, report: LeaseReport): void {
    this.#heldBy(target, holder).report = report
  }

  /** @throws MpsError; PctodlError `LEASE_RELEASED`, `MPS_ALREADY_RUNNING`, `MPS_DIVIDED` */
  async startMps(
    target: string,
    holder: Holder,
    defaultPercent: number | undefined,
  ): ReturnType<HeldLease['startMps']> {
    const held = this.#heldBy(target, holder)
    if (target === this.uuid && this.instances.isDivided) {
      const instances = this.instances.all.map(({ uuid }) => uuid).join(', ') || 'none so far'
      throw new PctodlError(
        'MPS_DIVIDED',
        `${target} is divided (MIG), and a daemon serves one instance: acquire that too (${instances}), and start its daemon`,
      )
    }
    return held.startMps(defaultPercent)
  }

  /** @throws MpsError; PctodlError `LEASE_RELEASED`, `MPS_NO_DAEMON` */
  async verifyMpsClient(target: string, holder: Holder, pid: number): Promise<void> {
    await this.#heldBy(target, holder).verifyMpsClient(pid)
  }

  /** @throws MpsError; PctodlError `LEASE_RELEASED` */
  async stopMps(target: string, holder: Holder, graceMs: number): Promise<string> {
    return this.#heldBy(target, holder).stopMps(graceMs)
  }

  /**
   * End a lease: its MPS daemon, then the board goes back. Idempotent.
   *
   * @param why null where the holder asked for it
   * @throws RestoreError where the board could not be put back; `tend` goes on trying
   */
  end(target: string, holder: Holder, why: string | null): Promise<void> {
    const held = this.#held.get(target)
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
      await this.#endGone()
      return
    }
    if (this.#condition !== 'lost') {
      this.#become('lost', this.#reason ?? 'it cannot be read')
      this.#log('board-lost')
      if (this.#held.size > 0) {
        await this.#endAll('the board is lost')
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

  async #end(held: HeldLease, why: string | null): Promise<void> {
    const { holder, target } = held
    const startedMs = performance.now()
    const { metrics } = this.#options
    try {
      // Not before: clients would work on without a limit.
      await held.leave()
      await this.#inTurn(async () => {
        try {
          // What is still held are instances, and what the board was set to goes with the lease of the board.
          if ((this.#held.size === 1 || target === this.uuid) && (await this.#giveBack()))
            metrics.restored('ok', performance.now() - startedMs)
        } finally {
          this.#held.delete(target)
        }
        if (this.#held.size > 0 && !this.#lease) await this.#take(target)
      })
      this.#log('lease-ended', holder, why ?? 'released', target)
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      metrics.restored('failed', performance.now() - startedMs)
      this.#become('unrestored', reason)
      this.#log('not-restored', holder, reason)
      throw error
    } finally {
      if (why !== null) holder.onEnded(target, why)
    }
  }

  async #endAll(why: string): Promise<void> {
    await Promise.allSettled(this.leases.map(({ target, holder }) => this.end(target, holder, why)))
  }

  /** An instance that the operator has taken apart is nothing that could be held. */
  async #endGone(): Promise<void> {
    const gone = this.leases.filter(({ target }) => target !== this.uuid && !this.instances.find(target))
    await Promise.allSettled(gone.map(({ target, holder }) => this.end(target, holder, 'the instance is gone')))
  }

  /**
   * The board's own lease, for a lease of the board or of an instance.
   *
   * @throws LeaseHeldError, RestoreError, ...: then those who hold a part of the board hold it no longer
   */
  async #take(target: string): Promise<NvmlLease> {
    try {
      // What a lease of the board finds is what is so by now, and not when the first of the instances was leased.
      if (target === this.uuid) await this.#giveBack()
      this.#lease ??= await this.gpu.acquireDirectly()
      return this.#lease
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      void this.#endAll(`the board was taken from the service: ${reason}`)
      throw error
    }
  }

  /** The board is put back. @returns false where it was not held. @throws RestoreError */
  async #giveBack(): Promise<boolean> {
    const lease = this.#lease
    this.#lease = null
    await lease?.release()
    return lease !== null
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turns.then(work)
    this.#turns = turn.catch(() => {})
    return turn
  }

  /** What must end before this program can have a lease: the same, or, of other programs, the whole and its parts. */
  #inTheWay(target: string, holder: Holder): HeldLease[] {
    return this.leases.filter((held) => {
      if (held.target === target) return true
      const isWholeAndPart = target === this.uuid || held.target === this.uuid
      return isWholeAndPart && !isSameProgram(held.holder, holder)
    })
  }

  /** Where the processes of a lease are. @throws PctodlError `NO_SUCH_BOARD` for an instance that is not there (any more) */
  #deviceOf(target: string): NonNullable<HeldLeaseOptions['device']> {
    const { device } = this.gpu
    if (target === this.uuid) return device
    const instance = this.instances.find(target)
    if (!instance) throw new PctodlError('NO_SUCH_BOARD', `${this.uuid} has no MIG instance ${target}`)
    const { gpuInstanceId, computeInstanceId } = instance
    return {
      subject: `MIG instance ${target} of ${device.subject}`,
      computeProcesses: () =>
        device
          .computeProcesses()
          .filter((each) => each.gpuInstanceId === gpuInstanceId && each.computeInstanceId === computeInstanceId),
    }
  }

  #heldBy(target: string, holder: Holder): HeldLease {
    if (this.holds(target, holder)) return this.#held.get(target)!
    throw new PctodlError('LEASE_RELEASED', `this connection has no lease on ${target}; acquire one`)
  }

  #leaseOf(target: string, holder: Holder): NvmlLease {
    this.#heldBy(target, holder)
    // While it is given back and taken anew, for instances.
    if (!this.#lease) throw new PctodlError('LEASE_RELEASED', `${this.uuid} is being put back; ask again`)
    return this.#lease
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
      if (text !== '') this.#log('board-event', this.#held.get(this.uuid)?.holder, text)
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
  #log(event: AuditEntry['event'], holder?: Holder, detail?: string, target?: string): void {
    this.#options.audit.note(this.#entry(event, holder, detail, target))
  }

  #entry(event: AuditEntry['event'], holder?: Holder, detail?: string, target: string = this.uuid): AuditEntry {
    return {
      event,
      board: this.uuid,
      ...(target === this.uuid ? {} : { instance: target }),
      ...(holder ? { peer: holder.peer, program: holder.program } : {}),
      ...(detail === undefined ? {} : { detail }),
    }
  }
}

function stateOf(held: HeldLease | undefined): ServiceStatus['boards'][number]['lease'] {
  if (!held) return null
  const { peer, program } = held.holder
  const { uid, pid, workload = null } = peer
  return { uid, pid, workload, program, since: held.since, mps: held.mps !== null }
}

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

function heldBy(target: string, { holder, target: other }: HeldLease): PctodlError {
  const { peer, program } = holder
  const what =
    other === target
      ? target
      : other.startsWith('GPU-')
        ? `${target}, as a part of ${other},`
        : `${other}, a part of ${target},`
  return new PctodlError(
    'LEASE_HELD',
    `${what} is leased by process ${peer.pid} (${program}) of user ${peer.uid}; wait for it, or end it (its lease ends with it)`,
  )
}
