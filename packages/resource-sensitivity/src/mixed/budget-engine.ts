import { InvalidInputError } from '@pctodl/platform'
import type { EngineEvent } from '../engine/engine-event.js'
import type { PreemptReason, ScheduleAction } from '../engine/schedule-action.js'
import type { Scheduler } from '../engine/scheduler.js'
import { ServerAvailability } from '../engine/server-availability.js'
import { type BudgetEngineOptions, type CheckedBudgetOptions, checkBudgetOptions, optionsOf } from './budget-options.js'
import { BudgetedJob, type Intended } from './budgeted-job.js'
import { assertEvents } from './check-events.js'
import { chooseSeat, type SeatQuestion, worthOf } from './choose-seat.js'
import type { MixedServerKind } from './mixed-cluster.js'
import { MixedSeats } from './mixed-seats.js'
import { PowerBudget } from './power-budget.js'
import type { LimitWay, SeatOption } from './seat-option.js'
import { Seating } from './seating.js'
import { shareWatts, type Way } from './share-watts.js'

/** How often seats are chosen anew for those who start, each time with the price of a watt that the last try found. */
const PRICES_TRIED = 3
/** A running job moves to a place where it is done within so much of the time. */
const WORTH_MOVING = 0.9
const ROUNDING_W = 1e-9

/**
 * The scheduler of a cluster of unequal GPUs within a budget of watts that changes over time. Told what happened it answers what to do, as
 * `ScheduleEngine` does; the same events at the same times give the same actions. It decides which job runs on which type of GPU, with which
 * share, cores and memory, and under which power limit.
 *
 * What the jobs draw as their profiles say, the idle GPUs included, is never above the budget after a plan, and not between the actions
 * of one: a run that is told to stop keeps its watts until an event `left` says that it has left, and limits fall before others rise. Only a fall
 * of the budget that nobody told `budgetLeadS` before may be above it until those who must leave have left.
 */
export class BudgetEngine implements Scheduler {
  readonly #options: CheckedBudgetOptions
  readonly #jobs = new Map<number, BudgetedJob>()
  /** Those that are not done. */
  readonly #present = new Set<BudgetedJob>()
  readonly #seats: MixedSeats
  readonly #availability: ServerAvailability<MixedServerKind>
  readonly #budget: PowerBudget
  /** Who left whose seats to whom: nobody behind may take them meanwhile. */
  readonly #kept = new Map<number, BudgetedJob>()
  #nowS: number
  #roundAtS = Number.POSITIVE_INFINITY
  #price = 0
  #energyJ = 0
  #leaving: ScheduleAction[] = []

  /** @throws InvalidInputError, UnknownNameError */
  constructor(options: BudgetEngineOptions, startS = 0) {
    this.#options = checkBudgetOptions(options)
    const { servers, powerBudgetW, budgetLeadS, idleW } = this.#options
    this.#seats = new MixedSeats(servers)
    this.#availability = new ServerAvailability(servers)
    this.#budget = new PowerBudget(powerBudgetW, budgetLeadS, idleW)
    this.#nowS = startS
  }

  get nowS(): number {
    return this.#nowS
  }

  get nextFinishS(): number {
    return Math.min(Number.POSITIVE_INFINITY, ...this.#all('running').map(({ finishAtS }) => finishAtS))
  }

  get wakeAtS(): number {
    return Math.min(this.#roundAtS, this.#availability.nextChangeS(this.#nowS), this.#budget.nextChangeS(this.#nowS))
  }

  get unfinished(): number {
    return this.#present.size
  }

  get waiting(): readonly number[] {
    return this.#inOrder(this.#all('waiting')).map(({ job }) => job.id)
  }

  get isIdle(): boolean {
    return this.#all('running', 'leaving').length === 0
  }

  /** Drawn now as the profiles say, idle GPUs included, W. */
  get powerW(): number {
    return this.#all('running', 'leaving').reduce((sum, job) => sum + job.watts, this.#options.idleW)
  }

  /** What holds now, W. */
  get powerBudgetW(): number {
    return this.#budget.at(this.#nowS)
  }

  /** Since the start, idle GPUs included, J. */
  get energyJ(): number {
    return this.#energyJ
  }

  /** What has become of every job, by its id. */
  get jobs(): ReadonlyMap<number, BudgetedJob> {
    return this.#jobs
  }

  expectedToFinishBy(untilS: number): number[] {
    return this.#all('running')
      .filter(({ finishAtS }) => finishAtS <= untilS)
      .sort((a, b) => a.finishAtS - b.finishAtS || a.job.id - b.job.id)
      .map(({ job }) => job.id)
  }

  /**
   * Decide what to do now, given what happened since the last plan.
   *
   * @returns who stops, whose limit falls, who starts, whose limit rises
   * @throws InvalidInputError, UnknownNameError, ImpossibleJobError for an event that cannot be; nothing has changed then
   */
  plan(nowS: number, events: readonly EngineEvent[]): ScheduleAction[] {
    const sinceS = this.#nowS
    if (!(nowS >= sinceS && Number.isFinite(nowS))) {
      throw new InvalidInputError('nowS', nowS, `a time not before ${sinceS}, that of the last plan`)
    }
    assertEvents(events, this.#options, this.#jobs)
    this.#availability.reserveAll(events)
    this.#energyJ += (nowS - sinceS) * this.powerW
    this.#nowS = nowS
    for (const job of this.#all('running', 'leaving')) job.count(nowS)
    const isRound = this.#roundAtS <= nowS
    // Who has ended already is in nobody's way.
    for (const event of events) this.#take(event)
    for (const server of this.#availability.changedBy(nowS, sinceS)) this.#refit(server, 'reserved')
    this.#dismissForWatts()
    if (isRound) this.#makeRoom()
    const started = this.#start()
    // Who starts has been promised the watts that a mover would keep.
    if (started.length === 0 && this.#all('waiting').length === 0) this.#moveOne()
    this.#chooseLimits(started)
    const actions = this.#tell(started)
    this.#planNextRound()
    return actions
  }

  #take(event: EngineEvent): void {
    switch (event.type) {
      case 'submitted': {
        const { job } = event
        if (this.#jobs.has(job.id)) return
        const { fastest } = this.#options.models.get(job.model)!
        const submitted = new BudgetedJob(job, fastest, optionsOf(this.#options, job))
        this.#jobs.set(job.id, submitted)
        this.#present.add(submitted)
        return
      }
      case 'finished':
        this.#release(this.#jobs.get(event.jobId)!, 'done')
        return
      case 'cancelled': {
        const job = this.#jobs.get(event.jobId)!
        job.isCancelled = true
        if (job.state === 'running') this.#dismiss(job, 'cancelled')
        else if (job.state === 'waiting') this.#release(job, 'done')
        return
      }
      case 'left': {
        const job = this.#jobs.get(event.jobId)!
        if (job.state === 'leaving' && job.run === event.run) this.#release(job, job.isCancelled ? 'done' : 'waiting')
        return
      }
      case 'stopped': {
        const job = this.#jobs.get(event.jobId)!
        if (job.state !== 'running' && job.state !== 'leaving') return
        const { doneIterations } = event
        // Told to stop at the moment of its end: no `left` will follow.
        this.#release(job, job.isCancelled ? 'done' : 'waiting')
        job.remaining =
          doneIterations === undefined ? job.savedRemaining : Math.max(0, job.job.iterations - doneIterations)
        return
      }
      case 'progressed': {
        const job = this.#jobs.get(event.jobId)!
        if (job.state === 'done') return
        job.setDone(event.doneIterations, this.#nowS)
        if (event.saved === true) job.savedRemaining = job.remaining
        return
      }
      case 'server-failed':
        if (this.#availability.fail(event.server)) this.#refit(event.server, 'server-failed')
        return
      case 'server-draining':
        if (this.#availability.drain(event.server)) this.#refit(event.server, 'server-draining')
        return
      case 'server-returned':
        if (this.#availability.restore(event.server)) this.#refit(event.server, 'server-failed')
        return
      case 'reserved':
        this.#refit(event.reservation.server, 'reserved')
        return
      case 'reservation-ended': {
        const server = this.#availability.end(event.id)
        if (server !== null) this.#refit(server, 'reserved')
        return
      }
      case 'budget':
        this.#budget.tell(event.powerBudgetW, event.fromS ?? this.#nowS)
    }
  }

  /** Let a server have what is left of it now. What ran on a failed one is gone; who is in the way elsewhere must leave. */
  #refit(server: number, reason: PreemptReason): void {
    this.#seats.resize(server, this.#availability.left(server, this.#nowS))
    const residents = this.#all('running', 'leaving').filter(({ held }) => held!.server === server)
    if (this.#availability.hasFailed(server)) {
      for (const job of residents) {
        if (job.state === 'running') this.#leaving.push({ type: 'preempt', jobId: job.job.id, run: job.run, reason })
        this.#release(job, job.isCancelled ? 'done' : 'waiting')
        job.remaining = job.savedRemaining
      }
      return
    }
    const staying = residents.filter(({ state }) => state === 'running')
    const gone = residents.filter(({ state }) => state === 'leaving')
    for (const job of gone) this.#giveSeat(job)
    while (!this.#seats.isWithin(server) && staying.length > 0) {
      const last = staying.pop()!
      this.#dismiss(last, reason)
      this.#giveSeat(last)
      gone.push(last)
    }
    for (const job of gone) {
      this.#seats.takeAgain(server, job.held!.gpus, { gpus: job.job.gpus, ...job.held!.option })
    }
  }

  /** Who has no limit that may be used now leaves, and where not even the least watts of all suffice, the last in the policy's order. */
  #dismissForWatts(): void {
    for (const job of this.#all('running')) if (this.#waysOf(job).length === 0) this.#dismiss(job, 'budget')
    const running = this.#inOrder(this.#all('running'))
    let leastW = this.#leastWattsOf(running)
    while (leastW > this.#forJobsW + ROUNDING_W && running.length > 0) {
      this.#dismiss(running.pop()!, 'budget')
      leastW = this.#leastWattsOf(running)
    }
  }

  /** For the first who wait and find no room, others who come later in the policy's order leave. */
  #makeRoom(): void {
    // For whom others are leaving already, nobody else must.
    if (this.#all('leaving').length === 0) this.#kept.clear()
    const having = new Set(this.#kept.values())
    const order = this.#inOrder(this.#all('waiting', 'running'))
    for (const [rank, job] of order.entries()) {
      if (job.state !== 'waiting' || having.has(job)) continue
      const question = this.#beside(this.#question(), job)
      if (chooseSeat(job, question) !== null) continue
      const later = order.slice(rank + 1).filter(({ state }) => state === 'running')
      const room = this.#bestRoom(job, later, question)
      if (room === null) continue
      for (const each of room.leaving) this.#dismiss(each, 'policy')
      job.intended = room.place
      this.#kept.set(room.place.server, job)
    }
  }

  /** The server where the fewest GPUs must be cleared, of those who come last. */
  #bestRoom(
    job: BudgetedJob,
    later: readonly BudgetedJob[],
    question: SeatQuestion,
  ): { readonly place: Intended; readonly leaving: readonly BudgetedJob[] } | null {
    let best: { place: Intended; leaving: readonly BudgetedJob[]; gpus: number } | null = null
    for (let server = 0; server < this.#options.servers.length; server++) {
      if (this.#kept.has(server)) continue
      const leaving: BudgetedJob[] = []
      const here = later.filter(({ held }) => held!.server === server)
      let spareW = question.mostWatts
      const place = () => chooseSeat(job, { ...question, mostWatts: spareW, isOpen: (other) => other === server })
      let found = place()
      while (found === null && here.length > 0) {
        const last = here.pop()!
        this.#giveSeat(last)
        leaving.push(last)
        spareW += last.watts
        found = place()
      }
      // Room, and no watts: those who come last elsewhere leave theirs.
      const elsewhere = later.filter(({ held }) => held!.server !== server)
      while (found === null && elsewhere.length > 0) {
        const last = elsewhere.pop()!
        leaving.push(last)
        spareW += last.watts
        found = place()
      }
      for (const each of leaving) {
        if (each.held!.server !== server) continue
        this.#seats.takeAgain(server, each.held!.gpus, { gpus: each.job.gpus, ...each.held!.option })
      }
      const gpus = leaving.reduce((sum, each) => sum + each.job.gpus, 0)
      if (found !== null && (best === null || gpus < best.gpus)) best = { place: found, leaving, gpus }
    }
    return best
  }

  /** Seat who waits, in the policy's order. @returns those who start */
  #start(): BudgetedJob[] {
    const waiting = this.#inOrder(this.#all('waiting'))
    // A place is kept until those have left who were told to.
    if (this.#all('leaving').length === 0) this.#kept.clear()
    if (waiting.length === 0) return []
    let best: { seated: readonly (readonly [BudgetedJob, Intended])[]; gain: number } | null = null
    let price = 0
    for (let tries = 0; tries < PRICES_TRIED; tries++) {
      const seated = this.#trySeats(waiting, price)
      const { gain, price: found } = this.#share(seated)
      if (best === null || gain > best.gain + 1e-12) best = { seated, gain }
      if (found === 0 || found === price) break
      price = found
    }
    for (const [job, { server, option }] of best!.seated) {
      const gpus = this.#seats.take(server, { gpus: job.job.gpus, ...option })
      const { startCostS, restartCostS } = this.#options
      job.start({ server, gpus, option }, this.#nowS, job.run === 0 ? startCostS : restartCostS)
    }
    return best!.seated.map(([job]) => job)
  }

  /** Where those who wait would sit if a watt had a price. Nothing changes. */
  #trySeats(waiting: readonly BudgetedJob[], price: number): (readonly [BudgetedJob, Intended])[] {
    const wantedGpus = waiting.reduce((sum, { job }) => sum + job.gpus, 0)
    const freeGpus = this.#options.servers.reduce((sum, _, server) => sum + this.#seats.freeGpus(server), 0)
    const question = { ...this.#question(), price, isScarce: wantedGpus > freeGpus }
    const seating: Seating = new Seating({
      questionOf: (job) => ({
        ...this.#beside(question, job, seating),
        isOpen: (server) => (this.#kept.get(server) ?? job) === job,
      }),
      leastWatts: (job, option) => this.#leastWatts(job, option),
      gainOf: (seated) => this.#share(seated).gain,
    })
    seating.fill(waiting)
    seating.improve()
    // The others' new places may have made room.
    seating.fill(waiting)
    const { seated } = seating
    seating.undo()
    return seated
  }

  /** While nobody waits: a running job that would be done much sooner on a free place moves there, one at a time. */
  #moveOne(): void {
    if (this.#all('leaving').length > 0) return
    for (const job of this.#inOrder(this.#all('running'))) {
      const { option } = job.held!
      const question = this.#question(this.#leastWatts(job), this.#price)
      const place = chooseSeat(job, question)
      if (place === null || place.option.gpuType === option.gpuType) continue
      if (worthOf(job, place.option, question) <= worthOf(job, option, question)) continue
      const way = this.#share([[job, place]], job).chosen.at(-1)!
      const thereS = this.#options.restartCostS + job.remaining / way.iterationsPerS
      if (thereS > WORTH_MOVING * (job.finishAtS - this.#nowS)) continue
      this.#dismiss(job, 'policy')
      job.intended = place
      this.#kept.set(place.server, job)
      return
    }
  }

  /** Share the watts out among who runs, and those who would start. */
  #share(
    seated: readonly (readonly [BudgetedJob, Intended])[],
    without?: BudgetedJob,
  ): { readonly gain: number; readonly price: number; readonly chosen: readonly LimitWay[] } {
    const items = [
      ...this.#all('running')
        .filter((job) => job !== without)
        .map((job) => [job, this.#waysOf(job)] as const),
      ...seated.map(([job, { option }]) => [job, this.#waysOf(job, option)] as const),
    ]
    const { chosen, gain, price } = shareWatts(
      items.map(([job, ways]) => ways.map((way) => this.#gainOf(job, way))),
      this.#forJobsW - this.#leavingW,
    )
    return { gain, price, chosen: chosen.map((way, i) => items[i]![1][way]!) }
  }

  #chooseLimits(started: readonly BudgetedJob[]): void {
    const running = this.#all('running')
    const items = running.map((job) => this.#waysOf(job, started.includes(job) ? job.held!.option : undefined))
    const { chosen, price } = shareWatts(
      items.map((ways, i) => ways.map((way) => this.#gainOf(running[i]!, way))),
      this.#forJobsW - this.#leavingW,
    )
    this.#price = price
    running.forEach((job, i) => {
      job.choose(job.held!.option.ways.indexOf(items[i]![chosen[i]!]!), this.#nowS)
    })
  }

  /** Say what has changed. */
  #tell(started: readonly BudgetedJob[]): ScheduleAction[] {
    const falling: ScheduleAction[] = []
    const rising: ScheduleAction[] = []
    const placing = started.map((job): ScheduleAction => {
      job.toldLimitW = job.current.powerLimitW
      const placement = [{ server: job.held!.server, gpus: job.job.gpus }]
      return { type: 'place', jobId: job.job.id, run: job.run, placement, ...grantOf(job) }
    })
    for (const job of this.#all('running')) {
      const { powerLimitW } = job.current
      if (powerLimitW === job.toldLimitW) continue
      const list = powerLimitW < job.toldLimitW ? falling : rising
      list.push({ type: 'resize', jobId: job.job.id, run: job.run, ...grantOf(job) })
      job.toldLimitW = powerLimitW
    }
    const leaving = this.#leaving
    this.#leaving = []
    return [...leaving, ...falling, ...placing, ...rising]
  }

  #gainOf(job: BudgetedJob, { dynamicPowerW, iterationsPerS }: LimitWay): Way {
    return { watts: job.job.gpus * dynamicPowerW, gain: (this.#weightOf(job) * iterationsPerS) / job.fastest }
  }

  /** The ways in which a job may run: of who runs already only the one, where limits cannot change. */
  #waysOf(job: BudgetedJob, starting?: SeatOption): readonly LimitWay[] {
    if (starting === undefined && !this.#options.limitsChange) return [job.current].filter(this.#isAllowed)
    return (starting ?? job.held!.option).ways.filter(this.#isAllowed)
  }

  /** Above idle, W; Infinity where no limit may be used. */
  #leastWatts(job: BudgetedJob, starting?: SeatOption): number {
    const [least] = this.#waysOf(job, starting)
    return least === undefined ? Number.POSITIVE_INFINITY : job.job.gpus * least.dynamicPowerW
  }

  #leastWattsOf(running: readonly BudgetedJob[]): number {
    return running.reduce((sum, job) => sum + this.#leastWatts(job), 0)
  }

  /** Under the rule `equal` no GPU has more than its part of the budget. */
  readonly #isAllowed = ({ powerLimitW }: LimitWay): boolean => {
    if (this.#options.watts === 'gain') return true
    const gpus = this.#options.servers.reduce((sum, kind) => sum + kind.gpus, 0)
    return powerLimitW <= this.#budget.toKeep(this.#nowS) / gpus + ROUNDING_W
  }

  #question(moreWatts = 0, price = 0): SeatQuestion {
    return {
      ...{ servers: this.#options.servers, seats: this.#seats, price, isScarce: false },
      mostWatts: this.#forJobsW - this.#leavingW - this.#leastWattsOf(this.#all('running')) + moreWatts + ROUNDING_W,
      isAllowed: this.#isAllowed,
      isOpen: (server) => !this.#kept.has(server),
      weightOf: (job) => this.#weightOf(job),
    }
  }

  /** The question of a job that leaves to others what they will need at the places that are kept for them. */
  #beside(question: SeatQuestion, job: BudgetedJob, seating?: Seating): SeatQuestion {
    let promisedW = 0
    for (const other of this.#kept.values()) {
      if (other === job || other.intended === null || seating?.holds(other)) continue
      const leastW = this.#leastWatts(other, other.intended.option)
      // Where none of its limits may be used any more, it waits for something else.
      if (Number.isFinite(leastW)) promisedW += leastW
    }
    const { mostWatts } = question
    return { ...question, mostWatts: Math.min(mostWatts, mostWatts + this.#leavingW - promisedW) }
  }

  /** What jobs may draw above idle, W. */
  get #forJobsW(): number {
    return this.#budget.toKeep(this.#nowS) - this.#options.idleW
  }

  get #leavingW(): number {
    return this.#all('leaving').reduce((sum, job) => sum + job.watts, 0)
  }

  #weightOf({ job }: BudgetedJob): number {
    return this.#options.weight === 'gpu' ? job.gpus : 1
  }

  #dismiss(job: BudgetedJob, reason: PreemptReason): void {
    job.leave(this.#nowS)
    this.#leaving.push({ type: 'preempt', jobId: job.job.id, run: job.run, reason })
  }

  #release(job: BudgetedJob, state: 'waiting' | 'done'): void {
    if (job.state === 'done') return
    if (job.held !== null) this.#giveSeat(job)
    job.release(this.#nowS, state)
    if (state === 'done') this.#present.delete(job)
  }

  #giveSeat(job: BudgetedJob): void {
    const { server, gpus, option } = job.held!
    this.#seats.give(server, gpus, { gpus: job.job.gpus, ...option })
  }

  #all(...states: readonly BudgetedJob['state'][]): BudgetedJob[] {
    return [...this.#present].filter(({ state }) => states.includes(state))
  }

  #inOrder(jobs: BudgetedJob[]): BudgetedJob[] {
    const { policy, starvationAfterS } = this.#options
    const keys = new Map(
      jobs.map((each) => {
        const isStarved = each.waitedS(this.#nowS) >= starvationAfterS
        const byArrival = isStarved || policy === 'fifo'
        return [each, { rank: isStarved ? 0 : 1, key: byArrival ? each.job.arrivalS : each.remaining / each.fastest }]
      }),
    )
    return jobs.sort((a, b) => {
      const [of, and] = [keys.get(a)!, keys.get(b)!]
      return of.rank - and.rank || of.key - and.key || a.job.id - b.job.id
    })
  }

  #planNextRound(): void {
    const waits = this.#all('waiting').length > 0
    if (!waits || this.#all('running').length === 0) this.#roundAtS = Number.POSITIVE_INFINITY
    else if (this.#roundAtS <= this.#nowS || this.#roundAtS === Number.POSITIVE_INFINITY) {
      this.#roundAtS = (Math.floor(this.#nowS / this.#options.roundS) + 1) * this.#options.roundS
    }
  }
}

function grantOf(job: BudgetedJob) {
  const { gpuType, sharePercent, cpus, memoryGb } = job.held!.option
  const { powerLimitW } = job.current
  return { cpusPerGpu: cpus, memoryGbPerGpu: memoryGb, gpu: { gpuType, sharePercent, powerLimitW } }
}
