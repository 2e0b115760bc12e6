import {
  type BoardChange,
  describeChange,
  type FoundState,
  type LeaseReport,
  type MigInstanceInfo,
  type ServiceStatus,
} from '@pctodl/nvml-control'
import { PctodlError } from '@pctodl/platform'
import type { AuditEntry, AuditLog } from './audit-log.js'
import { BoardGoneError, type BoardProcess } from './board-process.js'
import { HeldLease, type HeldLeaseOptions, type Holder, isSameProgram } from './held-lease.js'
import type { BoardLook, BoardReadings, Ceiling } from './kept-board.js'
import type { Policy } from './policy.js'
import type { ServiceMetrics } from './service-metrics.js'

type Condition = ServiceStatus['boards'][number]['condition']

export interface BoardKeeperOptions {
  readonly process: BoardProcess
  readonly identity: { readonly uuid: string; readonly index: number; readonly name: string }
  /** What the operator says of the board. */
  readonly ceiling: () => Ceiling
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
  /** Its MIG instances, as they were last seen: the operator may divide it at any time. */
  instances: readonly MigInstanceInfo[] = []
  /** What metrics tell; null where it could not be read. */
  readings: BoardReadings | null = null
  #reading: Promise<BoardReadings | null> | null = null
  readonly #options: BoardKeeperOptions
  /** By what they are of: the board's UUID, or an instance's. */
  readonly #held = new Map<string, HeldLease>()
  /** What the board's own lease found; ours while anything of the board is held. */
  #found: FoundState | null = null
  #isDivided = false
  #looking: Promise<void> | null = null
  #lookingSinceMs = 0
  /** One after the other takes or gives back the board. */
  #turns: Promise<unknown> = Promise.resolve()
  #condition: Condition = 'ok'
  #reason: string | null = null

  constructor(options: BoardKeeperOptions) {
    this.#options = options
    const { uuid, index, name } = options.identity
    this.uuid = uuid
    this.index = index
    this.name = name
    options.process.onLost = (reason) => this.#lose(reason)
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
    const uuids = new Set([this.uuid, ...this.instances.map(({ uuid }) => uuid), ...this.#held.keys()])
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
      instances: this.instances.map(({ uuid, name }) => ({ uuid, name, lease: stateOf(this.#held.get(uuid)) })),
    }
  }

  /** Whether this very lease is held, and not being ended. */
  holds(target: string, holder: Holder): boolean {
    const held = this.#held.get(target)
    return held?.holder === holder && !held.ending
  }

  /** Whether a UUID is this board's, or that of one of its instances, or of one that was and is still leased. */
  has(target: string): boolean {
    return target === this.uuid || this.#held.has(target) || this.#instance(target) !== undefined
  }

  /** @throws PctodlError `LEASE_HELD`, `NO_SUCH_BOARD`, `GPU_LOST`, `RESTORE_FAILED`, ... */
  async acquire(target: string, holder: Holder): Promise<FoundState> {
    // One who is being ended is no reason to refuse the next.
    await Promise.all(this.#inTheWay(target, holder).map(({ ending }) => ending?.catch(() => {})))
    return this.#inTurn(async () => {
      const [other] = this.#inTheWay(target, holder)
      if (other) throw heldBy(target, other)
      const device = this.#deviceOf(target)
      const found = await this.#take(target)
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
      return found
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
    const held = this.#heldBy(target, holder)
    this.found(target, holder)
    const { process, audit } = this.#options
    // Before: what cannot be written down is not done. One that the driver refuses is followed by a word of that.
    if (!(await process.ask('isInForce', change))) audit.add(this.#entry('changed', holder, JSON.stringify(change)))
    await process.ask('change', change)
    held.changes.set(change.kind, change)
  }

  /** The policy has changed: what a lease has set, and may set no more, is brought within it at once. */
  async tighten(policy: Policy): Promise<void> {
    // One that looks already does so by the policy before.
    await this.#looking
    await this.look()
    const held = this.#held.get(this.uuid)
    if (!held || held.ending || !this.#found) return
    for (const change of held.changes.values()) {
      const wanted = policy.nearest(held.holder.peer, this.uuid, change, this.#found)
      if (!wanted || wanted === change) continue
      this.#log('changed', held.holder, `${JSON.stringify(wanted)}, by a new policy`)
      await this.#options.process.ask('change', wanted)
      held.changes.set(wanted.kind, wanted)
    }
  }

  /** What the lease found. @throws PctodlError `LEASE_RELEASED` */
  found(target: string, holder: Holder): FoundState {
    this.#heldBy(target, holder)
    // While it is given back and taken anew, for instances.
    if (!this.#found) throw new PctodlError('LEASE_RELEASED', `${this.uuid} is being put back; ask again`)
    return this.#found
  }

  /** @throws PctodlError `LEASE_RELEASED`, SetterNotAppliedError */
  async verify(target: string, holder: Holder): Promise<void> {
    this.found(target, holder)
    // Whoever holds an instance has set nothing.
    if (target === this.uuid) await this.#options.process.ask('verify')
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
    if (target === this.uuid && this.#isDivided) {
      const instances = this.instances.map(({ uuid }) => uuid).join(', ') || 'none so far'
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

  /** Look after the board: is it there, and is all as it was? Told every two seconds; one look at a time. */
  look(): Promise<void> {
    if (this.#looking) return this.#looking
    this.#lookingSinceMs = performance.now()
    this.#looking = this.#look().finally(() => {
      this.#looking = null
    })
    return this.#looking
  }

  /** How long it has not answered, ms. */
  get silentMs(): number {
    return this.#looking ? performance.now() - this.#lookingSinceMs : 0
  }

  /** The board's readings, or null after `timeoutMs`. Concurrent callers share one read. */
  async read(timeoutMs: number): Promise<BoardReadings | null> {
    const ask = () => this.#options.process.ask('readings').catch(() => null)
    this.#reading ??= ask().finally(() => {
      this.#reading = null
    })
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<null>((resolve) => {
      timer = setTimeout(() => resolve(null), timeoutMs)
    })
    const readings = await Promise.race([this.#reading, late])
    clearTimeout(timer)
    return readings
  }

  /** Resolves when its process is gone. */
  close(): Promise<void> {
    return this.#options.process.close()
  }

  async #look(): Promise<void> {
    const { process, ceiling, metrics } = this.#options
    let seen: BoardLook
    try {
      seen = await process.ask('look', ceiling())
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      if (error instanceof BoardGoneError) this.#lose(reason)
      else this.#cannotRestore(reason)
      return
    }
    if (this.#condition === 'lost') {
      this.#become('ok', null)
      this.#log('board-found')
    }
    this.instances = seen.instances
    this.#isDivided = seen.isDivided
    if (this.#found && seen.found) this.#found = seen.found
    this.#tell(seen)
    const { left } = seen
    if (typeof left === 'object') this.#cannotRestore(left.failed)
    else if (left === 'restored' || left === 'rebooted') {
      metrics.restored('ok', 0)
      this.#log('restored', undefined, left)
      this.#become('ok', null)
    } else if (left === 'nothing' && this.#condition === 'unrestored') {
      this.#log('restored', undefined, 'by the watchdog of its lease, or by another program')
      this.#become('ok', null)
    }
    await this.#endGone()
  }

  /** What the driver and other programs have done meanwhile. Errors are written down, the rest is counted. */
  #tell({ events, others }: Pick<BoardLook, 'events' | 'others'>): void {
    const errors = new Map<string, number>()
    for (const event of events) {
      this.#options.metrics.happened(this, event)
      if (event.kind === 'clock' || event.kind === 'pstate') continue
      const what = event.xid === null ? event.kind : `XID ${event.xid}`
      errors.set(what, (errors.get(what) ?? 0) + 1)
    }
    const text = [...errors].map(([what, times]) => (times > 1 ? `${what}, ${times} times` : what)).join('; ')
    const holder = this.#held.get(this.uuid)?.holder
    if (text !== '') this.#log('board-event', holder, text)
    if (others.length > 0) this.#log('changed-by-others', holder, `${others.join('; ')}: kept`)
  }

  #cannotRestore(reason: string): void {
    if (this.#condition !== 'unrestored') this.#log('not-restored', undefined, reason)
    this.#become('unrestored', reason)
  }

  #lose(reason: string): void {
    if (this.#condition !== 'lost') this.#log('board-lost', undefined, reason)
    this.#become('lost', reason)
    void this.#endAll('the board is lost').then(() => this.#become('lost', reason))
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
        if (this.#held.size > 0 && !this.#found) await this.#take(target)
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
    const gone = this.leases.filter(({ target }) => target !== this.uuid && !this.#instance(target))
    await Promise.allSettled(gone.map(({ target, holder }) => this.end(target, holder, 'the instance is gone')))
  }

  /**
   * The board's own lease, for a lease of the board or of an instance.
   *
   * @throws LeaseHeldError, RestoreError, ...: then those who hold a part of the board hold it no longer
   */
  async #take(target: string): Promise<FoundState> {
    const { process, ceiling } = this.#options
    try {
      // What a lease of the board finds is what is so by now, and not when the first of the instances was leased.
      if (target === this.uuid) await this.#giveBack()
      this.#found ??= await process.ask('acquire', ceiling())
      return this.#found
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      void this.#endAll(`the board was taken from the service: ${reason}`)
      throw error
    }
  }

  /** The board is put back. @returns false where it was not held. @throws RestoreError */
  async #giveBack(): Promise<boolean> {
    const wasHeld = this.#found !== null
    this.#found = null
    if (wasHeld) this.#tell({ events: [], others: await this.#options.process.ask('release') })
    return wasHeld
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
    const processes = () => this.#options.process.ask('processes')
    if (target === this.uuid) return { subject: `GPU ${this.index}`, computeProcesses: processes }
    const instance = this.#instance(target)
    if (!instance) throw new PctodlError('NO_SUCH_BOARD', `${this.uuid} has no MIG instance ${target}`)
    const { gpuInstanceId, computeInstanceId } = instance
    return {
      subject: `MIG instance ${target} of GPU ${this.index}`,
      computeProcesses: async () =>
        (await processes()).filter(
          (each) => each.gpuInstanceId === gpuInstanceId && each.computeInstanceId === computeInstanceId,
        ),
    }
  }

  #instance(uuid: string): MigInstanceInfo | undefined {
    return this.instances.find((each) => each.uuid === uuid)
  }

  #heldBy(target: string, holder: Holder): HeldLease {
    if (this.holds(target, holder)) return this.#held.get(target)!
    throw new PctodlError('LEASE_RELEASED', `this connection has no lease on ${target}; acquire one`)
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
