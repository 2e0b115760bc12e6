import { InvalidInputError } from '@pctodl/platform'
import { expandServers, type ServerKind } from '../cluster.js'
import { assertAtLeast } from '../errors.js'
import { GreedyMechanism } from '../mechanisms/greedy.js'
import { FairMechanism, type Mechanism } from '../mechanisms/mechanism.js'
import { OptimalMechanism } from '../mechanisms/optimal.js'
import { ShareRules } from '../mechanisms/share-rules.js'
import { TuneMechanism } from '../mechanisms/tune.js'
import type { Job } from '../trace.js'
import { ActionRecord, type EngineEvent, type Plan, type PlannedJob, type ScheduleAction } from './actions.js'
import type { EngineJob } from './engine-job.js'
import { PowerShares } from './power-shares.js'
import { RunningJobs } from './running-jobs.js'
import { assertRunnable, checkEngineOptions, type EngineOptions } from './scheduling-options.js'
import { serviceOrder, WaitingQueue } from './service-order.js'

const mechanisms = { fair: FairMechanism, greedy: GreedyMechanism, tune: TuneMechanism, optimal: OptimalMechanism }

/**
 * The scheduler of a cluster: it takes events and returns actions. It owns no clock, process or file, so the same
 * engine runs a simulation, a dry run and a real cluster; the same events at the same times give the same actions.
 *
 * Between plans it estimates progress from the profiles; `nextFinishS` is the earliest expected finish. Events tell it
 * what really happens.
 */
export class ScheduleEngine {
  readonly running: RunningJobs
  readonly #mechanism: Mechanism
  readonly #queue = new WaitingQueue()
  readonly #kinds: readonly ServerKind[]
  /** Servers that accept no jobs, since they have failed or are draining. */
  readonly #away = new Map<number, 'server-failed' | 'server-draining'>()
  readonly #actions: ActionRecord
  /** Power and its budget; null if the cluster names no GPU types. */
  readonly power: PowerShares | null
  /** Submitted, unfinished jobs, in the order of the last round; newer ones at the end. */
  #present: EngineJob[] = []
  #roundAtS = Number.POSITIVE_INFINITY
  /** Number of times the policy decided afresh which jobs run. */
  rounds = 0
  /** Number of events that changed something, rounds included. */
  events = 0
  /** Number of submitted, unfinished jobs. */
  unfinished = 0
  /** Whether the last plan changed any placement. */
  changed = false

  /**
   * @param startS start of the clock
   * @throws InvalidInputError, UnknownNameError
   */
  constructor(options: EngineOptions, startS = 0) {
    const checked = checkEngineOptions(options)
    this.running = new RunningJobs(checked, startS)
    const rules = new ShareRules(checked.cluster)
    this.#mechanism = new mechanisms[checked.mechanism](this.running, rules)
    this.#kinds = expandServers(checked.cluster)
    this.#actions = new ActionRecord((job) => this.power?.limitsOf(job))
    this.power = checked.powerBudgetW === null ? null : new PowerShares(this.running, rules, this.#actions)
    this.running.watts = this.power
  }

  get nowS(): number {
    return this.running.nowS
  }

  /** Expected finish time of the next running job according to its profile; Infinity if none runs. */
  get nextFinishS(): number {
    return this.running.nextFinishS
  }

  /** IDs of the running jobs expected to finish by then, in order of finish time. */
  expectedToFinishBy(untilS: number): number[] {
    return this.running.expectedToFinishBy(untilS).map(({ id }) => id)
  }

  /** Time of the next scheduling round or change of the power budget, s; Infinity if neither is due. */
  get wakeAtS(): number {
    return Math.min(this.#roundAtS, this.power?.nextChangeS ?? Number.POSITIVE_INFINITY)
  }

  /** IDs of the waiting jobs in start order. */
  get waiting(): readonly number[] {
    return this.#queue.toArray().map(({ id }) => id)
  }

  get isIdle(): boolean {
    return this.nextFinishS === Number.POSITIVE_INFINITY && this.power?.anyLeaving !== true
  }

  /**
   * Decide what to do now, given the events since the last plan.
   *
   * @param nowS not before the last plan
   * @returns the actions in order: stop, shrink, move, start, grow
   * @throws InvalidInputError, UnknownNameError, ImpossibleJobError for an impossible event; the state is unchanged
   * then
   */
  plan(nowS: number, events: readonly EngineEvent[]): ScheduleAction[] {
    if (!(nowS >= this.nowS && Number.isFinite(nowS))) {
      throw new InvalidInputError('nowS', nowS, `a time not before ${this.nowS}, the time of the last plan`)
    }
    this.#assertEvents(events)
    this.power?.advance(nowS)
    this.running.advance(nowS)
    let anew = this.#roundAtS <= nowS
    for (const event of events) {
      anew = this.#take(event, nowS) || anew
      this.power?.take(event)
    }
    const dismissed = this.power === null ? [] : this.#dismissForWatts(this.power)
    this.#decide(anew)
    const actions =
      this.power === null
        ? this.#actions.take(this.running.takeTouched())
        : [...dismissed, ...this.#shareWatts(this.power)]
    this.#planNextRound(nowS)
    const { resizeCostS } = this.running.options
    for (const { type, jobId } of resizeCostS > 0 ? actions : []) {
      if (type === 'resize') this.running.hold(this.running.find(jobId)!, resizeCostS)
    }
    return actions
  }

  /** Current placements and waiting jobs. */
  current(): Plan {
    const running = this.#present.filter(({ state }) => state === 'running')
    return {
      timeS: this.nowS,
      running: running.map((job): PlannedJob => {
        const { cpus: cpusPerGpu, memoryGb: memoryGbPerGpu, throughput } = job.share
        const powerLimitsW = this.power?.limitsOf(job)
        const grant = { cpusPerGpu, memoryGbPerGpu, throughput, ...(powerLimitsW && { powerLimitsW }) }
        return { jobId: job.id, placement: job.seats, ...grant }
      }),
      waiting: this.waiting,
    }
  }

  /** Submits jobs before the first plan, in which the policy then decides which of them run. */
  adopt(jobs: readonly Job[]): void {
    for (const job of jobs) this.#admit(job)
    this.#roundAtS = this.nowS
  }

  /** @returns whether the policy must decide afresh */
  #take(event: EngineEvent, nowS: number): boolean {
    const of = (jobId: number) => this.running.find(jobId)!
    switch (event.type) {
      case 'submitted':
        if (this.running.find(event.job.id) !== undefined) return false
        this.events++
        this.#admit(event.job)
        return false
      case 'finished':
      case 'cancelled':
        this.#end(of(event.jobId), event.type)
        return false
      case 'stopped':
        this.#stop(of(event.jobId), event.doneIterations)
        return false
      case 'progressed': {
        const job = of(event.jobId)
        if (job.state === 'finished') return false
        job.count(nowS)
        this.running.setDone(job, event.doneIterations)
        if (event.saved === true) job.savedRemaining = job.remaining
        return false
      }
      case 'server-failed':
      case 'server-draining':
      case 'server-returned':
        return this.#changeServer(event.type, event.server)
      case 'left':
        return false
      case 'budget':
        // More watts are for who waits.
        return this.power !== null
    }
  }

  #admit(job: Job): void {
    const added = this.running.submit(job)
    this.unfinished++
    this.#present.push(added)
    this.#queue.push(added)
  }

  #end(job: EngineJob, how: 'finished' | 'cancelled'): void {
    if (job.state === 'finished') return
    this.events++
    this.unfinished--
    // A finished job exits by itself, even if it is told to stop at the same moment. A cancelled job must be told to
    // stop.
    if (how === 'finished') this.#actions.ended(job)
    else this.#actions.because(job, 'cancelled')
    if (job.state === 'waiting') this.#queue.remove(job)
    this.running.finish(job)
  }

  #stop(job: EngineJob, doneIterations: number | undefined): void {
    // Also true for a job that this plan has just preempted: its run has ended too.
    if (!this.#actions.ended(job)) return
    this.events++
    const saved = job.savedRemaining
    if (job.state === 'running') {
      this.running.preempt(job)
      this.#queue.push(job)
    }
    this.running.setDone(job, doneIterations ?? job.job.iterations - saved)
  }

  /** @returns whether jobs must leave the server */
  #changeServer(type: 'server-failed' | 'server-draining' | 'server-returned', server: number): boolean {
    const { running } = this
    const before = this.#away.get(server)
    const isBack = type === 'server-returned'
    // A failed server cannot drain.
    if (isBack ? before === undefined : before === type || before === 'server-failed') return false
    this.events++
    if (isBack) this.#away.delete(server)
    else this.#away.set(server, type)
    const kind = this.#kinds[server]!
    const had = running.pool.kinds[server]!.gpus
    const left = isBack ? kind : { ...kind, gpus: 0, cpus: 0, memoryGb: 0 }
    for (const job of left.gpus === had ? [] : running.resizeServer(server, left)) {
      if (!isBack) this.#actions.because(job, type)
      this.#queue.push(job)
    }
    // Jobs on a failed server lose their unsaved progress.
    for (const job of type === 'server-failed' ? this.#actions.toldOn(server) : []) {
      this.#actions.because(job, type as 'server-failed')
      if (job.state !== 'finished') running.setDone(job, job.job.iterations - job.savedRemaining)
    }
    return left.gpus < had
  }

  /**
   * Decides which jobs run: afresh by the policy, or by starting waiting jobs on free GPUs. If a job gets a seat that
   * needs more watts than are left, everything is decided again: first with the job on the GPUs on which it needs the
   * fewest watts, then without it. So no job is stopped for one that cannot start.
   */
  #decide(anew: boolean): void {
    const { running } = this
    if (anew) {
      this.rounds++
      this.events++
      this.#present = serviceOrder(running.options.policy, this.#present, this.nowS)
    }
    const undo = this.power && running.remember()
    const refused = new Set<EngineJob>()
    this.power?.frugal.clear()
    for (;;) {
      if (anew) this.#mechanism.plan(this.#present, refused)
      else this.#mechanism.fill(this.#queue, refused)
      this.changed = running.anyChanged
      this.#mechanism.settle()
      const job = this.power?.firstRefused(this.#present)
      if (job === undefined) break
      undo!()
      this.#requeue()
      const { frugal } = this.power!
      if (job.state === 'waiting' && !frugal.has(job)) frugal.add(job)
      else refused.add(job)
    }
    if (anew) this.#requeue()
  }

  /** Jobs that exceed the power budget are stopped before anything else is decided. */
  #dismissForWatts(power: PowerShares): ScheduleAction[] {
    const gone = power.overdrawn(this.#present)
    for (const job of gone) {
      this.#actions.because(job, 'budget')
      this.running.preempt(job)
    }
    if (gone.length > 0) this.#requeue()
    return this.#leave(power)
  }

  #leave(power: PowerShares): ScheduleAction[] {
    return this.#actions.dismiss(this.#present, (...run) => power.dismissed(...run))
  }

  /** Distributes the power budget. Newly seated jobs wait until stopping runs no longer draw their watts. */
  #shareWatts(power: PowerShares): ScheduleAction[] {
    const leaving = this.#leave(power)
    const late = power.mustWait(this.#present)
    for (const job of late) this.running.unseat(job)
    if (late.length > 0) {
      this.#requeue()
      this.#mechanism.settle()
    }
    power.settle(this.#present, this.#mechanism)
    this.running.takeTouched()
    return [...leaving, ...this.#actions.take(this.#present)]
  }

  #requeue(): void {
    this.#queue.clear()
    for (const job of this.#present) if (job.state === 'waiting') this.#queue.push(job)
  }

  #planNextRound(nowS: number): void {
    // If no job runs and none can start, only an event can change that.
    if (this.#queue.length === 0 || this.isIdle) this.#roundAtS = Number.POSITIVE_INFINITY
    else if (this.#roundAtS <= nowS || this.#roundAtS === Number.POSITIVE_INFINITY) {
      const { roundS } = this.running.options
      this.#roundAtS = (Math.floor(nowS / roundS) + 1) * roundS
    }
  }

  #assertEvents(events: readonly EngineEvent[]): void {
    const known = new Set<number>()
    for (const event of events) {
      if ('job' in event) {
        if (this.running.find(event.job.id) !== undefined) continue
        assertRunnable(event.job, this.running.profiles, this.running.options.cluster)
        known.add(event.job.id)
      } else if ('jobId' in event) {
        if (this.running.find(event.jobId) === undefined && !known.has(event.jobId)) {
          throw new InvalidInputError(`${event.type}: jobId`, event.jobId, 'a submitted job')
        }
        if ('doneIterations' in event) assertAtLeast(`${event.type}: doneIterations`, event.doneIterations ?? 0)
      } else if ('server' in event) this.#assertServer(event.type, event.server)
      else if (this.power !== null) this.power.assertBudget(event.powerBudgetW)
      else throw new InvalidInputError('event', 'budget', 'no budget, since the cluster names no GPU types')
    }
  }

  #assertServer(field: string, server: number): void {
    if (this.running.options.mechanism === 'optimal') {
      const expected = 'no server: the mechanism optimal is a bound for a whole cluster'
      throw new InvalidInputError(field, `server ${server}`, expected)
    }
    const count = this.#kinds.length
    if (!(Number.isInteger(server) && server >= 0 && server < count)) {
      throw new InvalidInputError(`${field}: server`, server, `a server from 0 to ${count - 1}`)
    }
  }
}
