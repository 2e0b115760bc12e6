import { type BoardChange, describeChange, type FoundState, reasonOf, type ServiceResults } from '@pctodl/nvml-control'
import { given, PctodlError, systemClock } from '@pctodl/platform'
import type { AuditEntry, AuditLog } from './audit-log.js'
import { BoardGoneError, type BoardProcess } from './board-process.js'
import { HeldLease, type HeldLeaseOptions, type Holder, isSameProgram } from './held-lease.js'
import type { BoardLook, BoardReadings, Ceiling, MigInstance } from './kept-board.js'
import type { Policy } from './policy.js'

type BoardState = ServiceResults['status']['boards'][number]
type Condition = BoardState['condition']

/** Minimum time between two leases, ms, so that one client cannot displace all other entries of the log. */
const BETWEEN_LEASES_MS = 50

export interface BoardKeeperOptions {
  readonly process: BoardProcess
  readonly identity: { readonly uuid: string; readonly index: number; readonly name: string }
  readonly ceiling: () => Ceiling
  readonly mpsFolder: string
  readonly mpsProgram?: string | undefined
  readonly audit: AuditLog
  readonly metrics: {
    happened(board: BoardKeeper, event: BoardLook['events'][number]): void
    restored(outcome: 'ok' | 'failed', durationMs: number): void
  }
}

/**
 * Manages one board: its condition, and the leases of the board and of its MIG instances. Only a lease of the board may
 * change clocks, limits and modes. The board and its instances can be leased at the same time only by one program.
 * While there is any such lease, the service itself holds a direct lease of the board, which keeps out direct leases of
 * root's programs.
 */
export class BoardKeeper {
  readonly uuid: string
  readonly index: number
  readonly name: string
  /** The board's MIG instances at the last check. The operator may create or remove instances at any time. */
  instances: readonly MigInstance[] = []
  /** The last readings, for metrics; null if the board could not be read. */
  readings: BoardReadings | null = null
  #reading: Promise<BoardReadings | null> | null = null
  /** Settles once the board's settings comply with the present policy. */
  tightening: Promise<void> = Promise.resolve()
  readonly #options: BoardKeeperOptions
  readonly #held = new Map<string, HeldLease>()
  /** The settings that the service's direct lease will restore; null while it holds none. */
  #found: FoundState | null = null
  #isDivided = false
  #looking: Promise<void> | null = null
  #lookingSinceMs = 0
  #turns: Promise<unknown> = Promise.resolve()
  #leasedMs = Number.NEGATIVE_INFINITY
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

  get leases(): readonly HeldLease[] {
    return [...this.#held.values()]
  }

  /** The board, its instances, and instances that were removed while leased; each with its lease, if any. */
  get targets(): readonly { readonly uuid: string; readonly lease: HeldLease | null }[] {
    const uuids = new Set([this.uuid, ...this.instances.map(({ uuid }) => uuid), ...this.#held.keys()])
    return [...uuids].map((uuid) => ({ uuid, lease: this.#held.get(uuid) ?? null }))
  }

  get state(): BoardState {
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

  leaseOf(target: string, holder: Holder): HeldLease | undefined {
    const held = this.#held.get(target)
    return held?.holder === holder ? held : undefined
  }

  /** Whether a UUID identifies this board, one of its MIG instances, or a removed instance that is still leased. */
  has(target: string): boolean {
    return target === this.uuid || this.#held.has(target) || this.#instance(target) !== undefined
  }

  /**
   * Leases the board or an instance. The lease ends after `silenceMs` without a request of its holder.
   * @throws PctodlError `LEASE_HELD`, `NO_SUCH_BOARD`, `GPU_LOST`, `RESTORE_FAILED` and others
   */
  async acquire(
    target: string,
    holder: Holder,
    silenceMs?: number,
  ): Promise<{ readonly held: HeldLease; readonly found: FoundState }> {
    // A conflicting lease that is about to end is awaited, so it does not lead to a refusal.
    await Promise.all(this.#inTheWay(target, holder).map(({ ending }) => ending?.catch(() => {})))
    return this.#inTurn(async () => {
      const waitMs = this.#leasedMs + BETWEEN_LEASES_MS - performance.now()
      if (waitMs > 0) await systemClock.sleep(waitMs)
      const [other] = this.#inTheWay(target, holder)
      if (other) throw heldByAnother(target, other)
      const device = this.#deviceOf(target)
      const found = await this.#take(target)
      // Taking the lease has restored all settings that an earlier lease left changed.
      if (this.#condition === 'unrestored') this.#become('ok', null)
      try {
        this.#options.audit.add(this.#entry('lease-acquired', holder, undefined, target))
        this.#leasedMs = performance.now()
      } catch (error) {
        if (this.#held.size === 0) await this.#giveBack()
        throw error
      }
      const { mpsFolder, mpsProgram } = this.#options
      const onMps = (event: 'mps-started' | 'mps-stopped', detail?: string) => this.#log(event, holder, detail, target)
      const onSilent = () => void this.end(held, `its holder has said nothing for ${silenceMs} ms`).catch(() => {})
      const options = { target, holder, device, mpsFolder, mpsProgram, onMps, silenceMs, onSilent }
      const held = new HeldLease(options)
      this.#held.set(target, held)
      return { held, found }
    })
  }

  /** @throws PctodlError `LEASE_RELEASED`, `INSTANCE_LEASE`, `NOT_ALLOWED`; the errors of the lease's setter */
  async change(held: HeldLease, change: BoardChange, policy: () => Policy): Promise<void> {
    const { holder, target } = held
    if (target !== this.uuid) {
      const what = "clocks, power limit, compute mode and persistence are the whole board's"
      const remedy = `to set ${describeChange(change)}, acquire ${this.uuid}, too`
      throw new PctodlError('INSTANCE_LEASE', `${target} is a part of ${this.uuid}: ${what}; ${remedy}`)
    }
    const { process, audit } = this.#options
    const { isInForce, isSupported, found } = await process.ask('before', change)
    // Nothing is awaited between here and the request, so neither the lease nor the policy can change in between.
    held.assertHeld()
    // The setting already has this value, but not through this lease, so the lease must not restore it when it ends.
    if (isInForce && !held.changes.has(change.kind)) return
    policy().assertMayChange(holder.peer, target, change, held.changes.has(change.kind) ? found : null)
    // The change is logged first, because a change that cannot be logged must not be made. If the driver refuses it, a
    // second entry says so.
    // An unsupported change, which will be refused, is not logged, so that it cannot displace other entries.
    if (isSupported && !isInForce) audit.add(this.#entry('changed', holder, JSON.stringify(change)))
    // The change is recorded even if it fails, because the setting may have to be restored all the same.
    if (isSupported) held.changes.set(change.kind, change)
    await process.ask('change', change)
  }

  /** Applies a new policy at once: settings of the present lease that it does not allow are replaced. */
  async tighten(policy: Policy): Promise<void> {
    // A check that is already running may still use the old policy, so its end is awaited.
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

  async verify({ target }: HeldLease): Promise<void> {
    // The holder of an instance cannot change settings, so there is nothing to verify.
    if (target === this.uuid) await this.#options.process.ask('verify')
  }

  async startMps(held: HeldLease, defaultPercent: number | undefined): ReturnType<HeldLease['startMps']> {
    held.assertHeld()
    if (held.target === this.uuid && this.#isDivided) {
      const instances = this.instances.map(({ uuid }) => uuid).join(', ') || 'none so far'
      const remedy = `acquire that too (${instances}), and start its daemon`
      throw new PctodlError('MPS_DIVIDED', `${this.uuid} is divided (MIG), and a daemon serves one instance: ${remedy}`)
    }
    return held.startMps(defaultPercent)
  }

  /**
   * Ends a lease: stops its MPS daemon, then restores the board.
   * @param why the reason for the holder and the log; null if the holder requested the end
   * @throws RestoreError if the board could not be restored; each `look` tries again
   */
  end(held: HeldLease, why: string | null): Promise<void> {
    if (!held.ending) held.endingBecause = why
    held.ending ??= this.#end(held, why)
    return held.ending
  }

  /** Ends the leases that satisfy a condition. Returns their targets. @throws RestoreError once all have ended */
  async endThose(isMeant: (held: HeldLease) => boolean, why: string): Promise<string[]> {
    const meant = this.leases.filter(isMeant)
    const ends = await Promise.allSettled(meant.map((held) => this.end(held, why)))
    for (const outcome of ends) if (outcome.status === 'rejected') throw outcome.reason
    return meant.map(({ target }) => target)
  }

  /** Checks the board, restores what former leases left, and reports events. Concurrent calls share one check. */
  look(): Promise<void> {
    if (this.#looking) return this.#looking
    this.#lookingSinceMs = performance.now()
    this.#looking = this.#look().finally(() => {
      this.#looking = null
    })
    return this.#looking
  }

  /** Time since the running check began, ms; 0 if none is running. */
  get silentMs(): number {
    return this.#looking ? performance.now() - this.#lookingSinceMs : 0
  }

  /** Returns the board's readings; null if reading fails or takes longer. Concurrent calls share one reading. */
  read(timeoutMs: number): Promise<BoardReadings | null> {
    const ask = () => this.#options.process.ask('readings').catch(() => null)
    this.#reading ??= ask().finally(() => {
      this.#reading = null
    })
    return Promise.race([this.#reading, systemClock.sleep(timeoutMs).then(() => null)])
  }

  close(): Promise<void> {
    return this.#options.process.close()
  }

  async #look(): Promise<void> {
    const { process, ceiling, metrics } = this.#options
    let seen: BoardLook
    try {
      seen = await process.ask('look', ceiling())
    } catch (error) {
      const reason = reasonOf(error)
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
    const isGone = ({ target }: HeldLease) => target !== this.uuid && !this.#instance(target)
    await this.endThose(isGone, 'the instance is gone').catch(() => {})
  }

  /** Reports events and changes by other programs. Changes of clocks and performance states are only counted. */
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
    const lose = () => this.#become('lost', reason)
    void this.endThose(() => true, 'the board is lost').then(lose, lose)
  }

  async #end(held: HeldLease, why: string | null): Promise<void> {
    const { holder, target } = held
    const startedMs = performance.now()
    const { metrics } = this.#options
    try {
      // MPS clients are stopped before the board is restored, because restoring removes the lease's power limit.
      await held.leave()
      await this.#inTurn(async () => {
        try {
          // The board is restored when its last lease ends, and also when the lease of the board ends while instances
          // are still leased.
          if ((this.#held.size === 1 || target === this.uuid) && (await this.#giveBack()))
            metrics.restored('ok', performance.now() - startedMs)
        } finally {
          this.#held.delete(target)
        }
        if (this.#held.size > 0 && !this.#found) await this.#take(target)
      })
      this.#log('lease-ended', holder, why ?? 'released', target)
    } catch (error) {
      const reason = reasonOf(error)
      metrics.restored('failed', performance.now() - startedMs)
      this.#become('unrestored', reason)
      this.#log('not-restored', holder, reason)
      throw error
    } finally {
      if (why !== null) holder.onEnded(target, why)
    }
  }

  /** Acquires the service's direct lease of the board. If that fails, all leases on the board end. */
  async #take(target: string): Promise<FoundState> {
    const { process, ceiling } = this.#options
    try {
      // A lease of the board must record the present settings, not those from when the first instance was leased.
      if (target === this.uuid) await this.#giveBack()
      this.#found ??= await process.ask('acquire', ceiling())
      return this.#found
    } catch (error) {
      void this.endThose(() => true, `the board was taken from the service: ${reasonOf(error)}`).catch(() => {})
      throw error
    }
  }

  /** Releases the service's direct lease, which restores the board. Returns whether there was one. */
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
   * Returns the leases that conflict with a new one: each lease of the same target, and leases of other programs that
   * are for the board of an instance, or for an instance of a board.
   */
  #inTheWay(target: string, holder: Holder): HeldLease[] {
    return this.leases.filter((held) => {
      if (held.target === target) return true
      const isWholeAndPart = target === this.uuid || held.target === this.uuid
      return isWholeAndPart && !isSameProgram(held.holder, holder)
    })
  }

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

  #instance(uuid: string): MigInstance | undefined {
    return this.instances.find((each) => each.uuid === uuid)
  }

  #become(condition: Condition, reason: string | null): void {
    this.#condition = condition
    this.#reason = reason
  }

  /** Logs an event. A failure to write it is ignored, because a full disk must not prevent restoring a board. */
  #log(event: AuditEntry['event'], holder?: Holder, detail?: string, target?: string): void {
    this.#options.audit.note(this.#entry(event, holder, detail, target))
  }

  #entry(event: AuditEntry['event'], holder?: Holder, detail?: string, target: string = this.uuid): AuditEntry {
    return {
      event,
      board: this.uuid,
      ...(target === this.uuid ? {} : { instance: target }),
      ...(holder ? { peer: holder.peer, program: holder.program } : {}),
      ...given({ detail }),
    }
  }
}

function stateOf(held: HeldLease | undefined): BoardState['lease'] {
  if (!held) return null
  const { peer, program } = held.holder
  const { uid, pid, workload = null } = peer
  return { uid, pid, workload, program, since: held.since, mps: held.mps !== null }
}

function heldByAnother(target: string, { holder, target: other }: HeldLease): PctodlError {
  const { peer, program } = holder
  const part = other.startsWith('GPU-') ? `${target}, as a part of ${other},` : `${other}, a part of ${target},`
  const what = `${other === target ? target : part} is leased by process ${peer.pid} (${program}) of user ${peer.uid}`
  return new PctodlError('LEASE_HELD', `${what}; wait for it, or end it (its lease ends with it)`)
}
