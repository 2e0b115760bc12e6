import {
  type BoardChange,
  describeChange,
  type FoundState,
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
  /** The operator's ceilings for the board. */
  readonly ceiling: () => Ceiling
  /** Folder for the working folders of MPS daemons; owned by root. */
  readonly mpsFolder: string
  /** The MPS control program: a path, or a name on PATH. */
  readonly mpsProgram?: string | undefined
  readonly audit: AuditLog
  readonly metrics: ServiceMetrics
}

/**
 * One board: its condition, and who leases it or its MIG instances. A lease covers the whole board or one instance.
 * Clocks, limits and modes belong to the board, so only a lease of the board changes them. A lease of the board and
 * leases of its instances exclude each other, unless the same program holds both. While any of them is held, the
 * service holds the board's own lease, which excludes root's programs outside the service.
 */
export class BoardKeeper {
  readonly uuid: string
  readonly index: number
  readonly name: string
  /** Its MIG instances when last read: the operator may divide the board at any time. */
  instances: readonly MigInstanceInfo[] = []
  /** Readings for the metrics; null if the board could not be read. */
  readings: BoardReadings | null = null
  #reading: Promise<BoardReadings | null> | null = null
  readonly #options: BoardKeeperOptions
  /** Leases by the UUID of the board or instance that they cover. */
  readonly #held = new Map<string, HeldLease>()
  /** What the board's own lease found; null unless that lease is held. */
  #found: FoundState | null = null
  #isDivided = false
  #looking: Promise<void> | null = null
  #lookingSinceMs = 0
  /** Serialises acquiring and releasing the board. */
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

  /** All leases, of the board and its instances. */
  get leases(): readonly HeldLease[] {
    return [...this.#held.values()]
  }

  /** The board and everything on it that can be leased separately, each with its lease. */
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

  /** Whether this holder still has the lease and it is not being ended. */
  holds(target: string, holder: Holder): boolean {
    const held = this.#held.get(target)
    return held?.holder === holder && !held.ending
  }

  /** @throws PctodlError `LEASE_RELEASED` unless this holder has the lease, with the reason if it is being ended */
  heldBy(target: string, holder: Holder): HeldLease {
    const held = this.#held.get(target)
    if (this.holds(target, holder)) return held!
    if (held?.holder === holder && held.endingBecause !== null)
      throw new PctodlError('LEASE_RELEASED', `the lease on ${target} is being ended: ${held.endingBecause}`)
    throw new PctodlError('LEASE_RELEASED', `this connection has no lease on ${target}; acquire one`)
  }

  /** Whether a UUID is that of this board, of one of its instances, or of a former instance that is still leased. */
  has(target: string): boolean {
    return target === this.uuid || this.#held.has(target) || this.#instance(target) !== undefined
  }

  /** @throws PctodlError `LEASE_HELD`, `NO_SUCH_BOARD`, `GPU_LOST`, `RESTORE_FAILED`, ... */
  async acquire(target: string, holder: Holder): Promise<FoundState> {
    // A conflicting lease that is being ended is no reason to refuse: wait for its end.
    await Promise.all(this.#inTheWay(target, holder).map(({ ending }) => ending?.catch(() => {})))
    return this.#inTurn(async () => {
      const [other] = this.#inTheWay(target, holder)
      if (other) throw heldByAnother(target, other)
      const device = this.#deviceOf(target)
      const found = await this.#take(target)
      // Taking the lease has restored all leftovers.
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

  /**
   * @throws PctodlError `LEASE_RELEASED` if this holder has no lease, `INSTANCE_LEASE` if its lease is of an instance,
   *   `NOT_ALLOWED` by the policy; what the lease's setter throws
   */
  async change(target: string, holder: Holder, change: BoardChange, policy: () => Policy): Promise<void> {
    if (target !== this.uuid) throw this.#instanceLease(target, change)
    const { process, audit } = this.#options
    this.heldBy(target, holder)
    const { isInForce, found } = await process.ask('before', change)
    // From here to the request nothing is awaited: neither the lease nor the policy changes in between.
    const held = this.heldBy(target, holder)
    // What this lease has not changed it need not put back, even if somebody else has changed it meanwhile.
    if (isInForce && !held.changes.has(change.kind)) return
    policy().assertMayChange(holder.peer, target, change, held.changes.has(change.kind) ? found : null)
    // Log first: an action that cannot be logged is not performed. If the driver then refuses, an entry about that
    // follows.
    if (!isInForce) audit.add(this.#entry('changed', holder, JSON.stringify(change)))
    // Even a change that fails may have to be put back.
    held.changes.set(change.kind, change)
    await process.ask('change', change)
  }

  /** After a change of the policy, bring settings that it no longer allows within it at once. */
  async tighten(policy: Policy): Promise<void> {
    // A look in progress still uses the old policy.
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

  /** @throws PctodlError `LEASE_RELEASED`, SetterNotAppliedError */
  async verify(target: string, holder: Holder): Promise<void> {
    this.heldBy(target, holder)
    // The holder of an instance has changed nothing that could be verified.
    if (target === this.uuid) await this.#options.process.ask('verify')
  }

  /** @throws MpsError; PctodlError `LEASE_RELEASED`, `MPS_ALREADY_RUNNING`, `MPS_DIVIDED` */
  async startMps(
    target: string,
    holder: Holder,
    defaultPercent: number | undefined,
  ): ReturnType<HeldLease['startMps']> {
    const held = this.heldBy(target, holder)
    if (target === this.uuid && this.#isDivided) {
      const instances = this.instances.map(({ uuid }) => uuid).join(', ') || 'none so far'
      throw new PctodlError(
        'MPS_DIVIDED',
        `${target} is divided (MIG), and a daemon serves one instance: acquire that too (${instances}), and start its daemon`,
      )
    }
    return held.startMps(defaultPercent)
  }

  /**
   * End a lease: first its MPS daemon, then restore the board. Idempotent.
   *
   * @param why null if the holder asked for it
   * @throws RestoreError if the board could not be restored; `look` keeps trying
   */
  end(target: string, holder: Holder, why: string | null): Promise<void> {
    const held = this.#held.get(target)
    if (held?.holder !== holder) return Promise.resolve()
    if (held.ending === null) held.endingBecause = why
    held.ending ??= this.#end(held, why)
    return held.ending
  }

  /** Check that the board is present and unchanged. Called every two seconds; concurrent calls share one check. */
  look(): Promise<void> {
    if (this.#looking) return this.#looking
    this.#lookingSinceMs = performance.now()
    this.#looking = this.#look().finally(() => {
      this.#looking = null
    })
    return this.#looking
  }

  /** Time since the unanswered check began, ms; 0 if none is pending. */
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

  /** Resolves when the board's process has exited. */
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

  /**
   * Report what the driver and other programs have done since the last check: errors are logged, other events only
   * counted.
   */
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
      // MPS clients end before the board is restored: otherwise they would run without a limit.
      await held.leave()
      await this.#inTurn(async () => {
        try {
          // Instances may still be leased, but the board's settings end with the lease of the board.
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

  /** End leases of instances that the operator has removed. */
  async #endGone(): Promise<void> {
    const gone = this.leases.filter(({ target }) => target !== this.uuid && !this.#instance(target))
    await Promise.allSettled(gone.map(({ target, holder }) => this.end(target, holder, 'the instance is gone')))
  }

  /**
   * Take the board's own lease on behalf of a lease of the board or of an instance.
   *
   * @throws LeaseHeldError, RestoreError, ...: then all leases on the board end
   */
  async #take(target: string): Promise<FoundState> {
    const { process, ceiling } = this.#options
    try {
      // A lease of the board must find the present settings, not those from when the first instance was leased.
      if (target === this.uuid) await this.#giveBack()
      this.#found ??= await process.ask('acquire', ceiling())
      return this.#found
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      void this.#endAll(`the board was taken from the service: ${reason}`)
      throw error
    }
  }

  /**
   * Release the board's own lease, which restores the board.
   *
   * @returns false if it was not held
   * @throws RestoreError
   */
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

  /**
   * Leases that prevent this one: a lease of the same target; and, if another program holds them, leases of the whole
   * board or its instances.
   */
  #inTheWay(target: string, holder: Holder): HeldLease[] {
    return this.leases.filter((held) => {
      if (held.target === target) return true
      const isWholeAndPart = target === this.uuid || held.target === this.uuid
      return isWholeAndPart && !isSameProgram(held.holder, holder)
    })
  }

  /**
   * Where the processes of a lease run.
   *
   * @throws PctodlError `NO_SUCH_BOARD` for an instance that does not exist (any more)
   */
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

  #instanceLease(target: string, change: BoardChange): PctodlError {
    return new PctodlError(
      'INSTANCE_LEASE',
      `${target} is a part of ${this.uuid}: clocks, power limit, compute mode and persistence are the whole board's; to set ` +
        `${describeChange(change)}, acquire ${this.uuid}, too`,
    )
  }

  #become(condition: Condition, reason: string | null): void {
    this.#condition = condition
    this.#reason = reason
  }

  /** Log an event that has already happened: a full disk must not prevent restoring a board. */
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

function heldByAnother(target: string, { holder, target: other }: HeldLease): PctodlError {
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
