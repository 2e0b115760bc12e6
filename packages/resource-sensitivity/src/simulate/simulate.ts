import { InvalidInputError } from '@pctodl/platform'
import { type CanonicalCluster, inCanonicalOrder } from '../cluster/canonical-cluster.js'
import type { Job } from '../trace/job.js'
import { FairMechanism } from './fair-mechanism.js'
import { GreedyMechanism } from './greedy-mechanism.js'
import { FINISHED, JobTable, RUNNING, totals, WAITING } from './job-table.js'
import type { Mechanism } from './mechanism.js'
import { OptimalMechanism } from './optimal-mechanism.js'
import { Placer } from './placer.js'
import { RunningJobs } from './running-jobs.js'
import { ServiceOrder } from './service-order.js'
import { ShareRules } from './share-rules.js'
import {
  type CheckedOptions,
  checkOptions,
  type JobState,
  type Plan,
  type PlanOptions,
  type RunningJobState,
  type SimulationOptions,
} from './simulation-options.js'
import type { JobResult, SimulationResult } from './simulation-result.js'
import { TuneMechanism } from './tune-mechanism.js'
import { WaitingQueue } from './waiting-queue.js'

/**
 * Run a trace on a cluster, from the first arrival until every job has finished.
 *
 * An arriving job starts at once where there is room, and what a finishing job frees is given away at once. While jobs wait,
 * the policy decides every `roundS` seconds anew who runs; who goes on keeps its place. Time jumps from event to event.
 *
 * @throws InvalidInputError, UnknownNameError, ImpossibleJobError
 */
export function simulate(options: SimulationOptions): SimulationResult {
  return new Simulation(checkOptions(options)).run()
}

/**
 * Who should run where now, with what: one decision for jobs that are all there. Who runs keeps its place unless the policy wants its GPUs
 * for others; a job of `running` that is not in the plan's is to be stopped. Jobs that must wait are listed as waiting.
 *
 * Without `nowS` all jobs have just arrived. `iterations` of a job are what is left of it where `doneIterations` of its state does not say.
 *
 * @throws as `simulate`; InvalidInputError for a running job that is not among the jobs, arrives later, or sits on GPUs that are not there
 */
export function planNow(options: PlanOptions): Plan {
  const { nowS, running = [], waiting = [] } = options
  if (nowS !== undefined && !(nowS >= 0 && Number.isFinite(nowS))) {
    throw new InvalidInputError('nowS', nowS, 'seconds of at least 0')
  }
  const present =
    nowS === undefined
      ? options.jobs.map((job): Job => ({ ...job, arrivalS: 0 }))
      : options.jobs.filter(({ arrivalS }) => !(arrivalS > nowS))
  return new Simulation(checkOptions({ ...options, jobs: present })).planOnce(nowS ?? 0, running, waiting)
}

class Simulation {
  readonly #options: CheckedOptions
  readonly #servers: Pick<CanonicalCluster, 'inside' | 'outside'>
  readonly #table: JobTable
  readonly #running: RunningJobs
  readonly #mechanism: Mechanism
  readonly #order: ServiceOrder
  readonly #queue: WaitingQueue
  /** Jobs that have arrived and not finished, in the order of the last round, then of arrival. */
  #present: number[] = []
  #arrived = 0
  #roundAtS = Number.POSITIVE_INFINITY
  #rounds = 0
  #events = 0

  constructor(given: CheckedOptions) {
    if (given.jobs.length === 0) throw new InvalidInputError('jobs', 'none', 'at least one job')
    // The order of the kinds in a file means nothing, so it must change nothing.
    const { cluster, inside, outside } = inCanonicalOrder(given.cluster)
    const options = { ...given, cluster }
    this.#options = options
    this.#servers = { inside, outside }
    this.#table = new JobTable(options)
    this.#running = new RunningJobs(options, this.#table, this.#table.arrivalS[0]!)
    this.#mechanism = createMechanism(options, this.#running)
    this.#order = new ServiceOrder(this.#table, options.policy, options.starvationAfterS)
    this.#queue = new WaitingQueue(this.#table.classOf, this.#table.gpusOfClass)
  }

  run(): SimulationResult {
    const { finishing } = this.#running
    const { arrivalS, length } = this.#table
    for (;;) {
      const arrivalAtS = this.#arrived < length ? arrivalS[this.#arrived]! : Number.POSITIVE_INFINITY
      const nowS = Math.min(arrivalAtS, finishing.firstKey, this.#roundAtS)
      if (nowS === Number.POSITIVE_INFINITY) break
      this.#running.advance(nowS)
      while (finishing.size > 0 && finishing.firstKey <= nowS) {
        this.#events++
        this.#running.finish(finishing.first)
      }
      this.#admit(nowS)
      if (this.#roundAtS <= nowS) this.#round(nowS)
      else this.#mechanism.fill(this.#queue)
      this.#settle()
      this.#planNextRound(nowS)
    }
    return this.#result()
  }

  planOnce(nowS: number, running: readonly RunningJobState[], waiting: readonly JobState[]): Plan {
    this.#running.nowS = nowS
    const table = this.#table
    this.#admit(nowS)
    for (let job = 0; job < table.length; job++) {
      table.heldSinceS[job] = nowS
      table.lastRunS[job] = table.arrivalS[job]!
    }
    const indexOf = new Map(table.jobs.map(({ id }, j) => [id, j]))
    for (const state of [...running, ...waiting]) {
      const job = indexOf.get(state.jobId)
      if (job === undefined)
        throw new InvalidInputError('running', `job ${state.jobId}`, 'one of the jobs, present now')
      assertState(state, table.jobs[job]!)
      table.remaining[job]! -= state.doneIterations ?? 0
      table.attainedGpuS[job] = state.attainedGpuS ?? 0
      table.lastRunS[job] = state.lastRunS ?? table.arrivalS[job]!
    }
    for (const state of running) this.#seat(indexOf.get(state.jobId)!, state)
    this.#round(nowS)
    this.#mechanism.settle()
    return this.#plan()
  }

  /** Where a job sits when a plan begins, with what it was given. */
  #seat(job: number, { jobId, placement, cpusPerGpu, memoryGbPerGpu, throughput }: RunningJobState): void {
    const { pool } = this.#running
    const seats = placement.map(({ server, gpus }) => ({ server: this.#servers.inside[server], gpus }))
    const isWhole = seats.reduce((sum, { gpus }) => sum + gpus, 0) === this.#table.gpus[job]
    const isThere = seats.every(({ server, gpus }, i) => {
      if (server === undefined || !(Number.isInteger(gpus) && gpus >= 1) || pool.freeGpus[server]! < gpus) return false
      return seats.findIndex((other) => other.server === server) === i
    })
    if (!isWhole || !isThere || this.#table.state[job] === RUNNING) {
      throw new InvalidInputError(
        `running: job ${jobId}`,
        placement.map(({ server, gpus }) => `${gpus} on server ${server}`).join(', ') || 'no placement',
        `one place of ${this.#table.gpus[job]} GPUs that the servers have and no other job holds`,
      )
    }
    for (const { server, gpus } of seats) pool.take(server!, gpus)
    this.#running.start(job, { servers: seats.map(({ server }) => server!), gpus: seats.map(({ gpus }) => gpus) })
    this.#running.feed(job, cpusPerGpu, memoryGbPerGpu, throughput)
  }

  #admit(nowS: number): void {
    const { arrivalS, length } = this.#table
    while (this.#arrived < length && arrivalS[this.#arrived]! <= nowS) {
      const job = this.#arrived++
      this.#events++
      this.#table.heldSinceS[job] = nowS
      this.#present.push(job)
      this.#queue.push(job)
      this.#running.usage.waiting++
    }
  }

  #round(nowS: number): void {
    const table = this.#table
    this.#rounds++
    this.#events++
    const present = this.#present.filter((job) => table.state[job] !== FINISHED)
    for (const job of present) if (table.state[job] === RUNNING) table.count(job, nowS)
    this.#order.sort(present, nowS)
    this.#present = present
    this.#mechanism.plan(present)
    this.#queue.clear()
    for (const job of present) if (table.state[job] === WAITING) this.#queue.push(job)
  }

  #planNextRound(nowS: number): void {
    const { roundS } = this.#options
    if (this.#queue.length === 0) this.#roundAtS = Number.POSITIVE_INFINITY
    else if (this.#roundAtS <= nowS || this.#roundAtS === Number.POSITIVE_INFINITY) {
      this.#roundAtS = (Math.floor(nowS / roundS) + 1) * roundS
    }
  }

  #settle(): void {
    const changed = this.#running.anyChanged
    this.#mechanism.settle()
    if (changed && this.#options.onPlan !== null) this.#options.onPlan(this.#plan())
  }

  #plan(): Plan {
    const table = this.#table
    const running = this.#present.filter((job) => table.state[job] === RUNNING)
    return {
      timeS: this.#running.nowS,
      running: running.map((job) => {
        const { servers, gpus } = this.#running.placementOf(job)
        return {
          jobId: table.jobs[job]!.id,
          placement: servers
            .map((server, i) => ({ server: this.#servers.outside[server]!, gpus: gpus[i]! }))
            .sort((a, b) => b.gpus - a.gpus || a.server - b.server),
          cpusPerGpu: table.cpusPerGpu[job]!,
          memoryGbPerGpu: table.memoryGbPerGpu[job]!,
          throughput: table.throughput[job]!,
        }
      }),
      waiting: this.#queue.toArray().map((job) => table.jobs[job]!.id),
    }
  }

  #result(): SimulationResult {
    const table = this.#table
    const { usage, nowS } = this.#running
    const indexOf = new Map(table.jobs.map(({ id }, j) => [id, j]))
    const jobs = this.#options.jobs.map((job): JobResult => {
      const j = indexOf.get(job.id)!
      const completionS = table.finishS[j]! - job.arrivalS
      return {
        job,
        firstStartS: table.firstStartS[j]!,
        finishS: table.finishS[j]!,
        completionS,
        waitedS: table.waitedS[j]!,
        attainedGpuS: table.attainedGpuS[j]!,
        restarts: table.restarts[j]!,
        rho: completionS / (job.iterations * table.fairIterationS[j]!),
      }
    })
    const firstArrivalS = table.arrivalS[0]!
    const gpuS = totals(this.#options.cluster).gpus * (nowS - firstArrivalS)
    const heldGpuS = jobs.reduce((sum, { attainedGpuS }) => sum + attainedGpuS, 0)
    return {
      policy: this.#options.policy,
      mechanism: this.#options.mechanism,
      jobs,
      skipped: this.#options.skipped,
      firstArrivalS,
      lastFinishS: nowS,
      rounds: this.#rounds,
      events: this.#events,
      usage: usage.means(),
      idleWhileWaiting: usage.idleWhileWaitingGpuS / gpuS,
      spreadShare: usage.spreadGpuS / heldGpuS,
      timeline: usage.timeline(),
    }
  }
}

function assertState({ jobId, doneIterations = 0, attainedGpuS = 0 }: JobState, { iterations }: Job): void {
  if (!(doneIterations >= 0 && doneIterations < iterations)) {
    throw new InvalidInputError(`job ${jobId}: doneIterations`, doneIterations, `a number from 0, below ${iterations}`)
  }
  if (!(attainedGpuS >= 0 && Number.isFinite(attainedGpuS))) {
    throw new InvalidInputError(`job ${jobId}: attainedGpuS`, attainedGpuS, 'GPU-seconds of at least 0')
  }
}

function createMechanism(options: CheckedOptions, running: RunningJobs): Mechanism {
  const { profiles, mechanism, cluster, weight, solver } = options
  const rules = new ShareRules(profiles, cluster)
  switch (mechanism) {
    case 'fair':
      return new FairMechanism(running, new Placer(running, profiles, false), rules)
    case 'greedy':
      return new GreedyMechanism(running, profiles, rules)
    case 'tune':
      return new TuneMechanism(running, new Placer(running, profiles, true), rules, weight)
    case 'optimal':
      return new OptimalMechanism(
        running,
        new Placer(running, profiles, false),
        rules,
        solver!,
        weight,
        totals(cluster),
      )
  }
}
