import { InvalidInputError } from '@pctodl/platform'
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
import { type CheckedOptions, checkOptions, type Plan, type SimulationOptions } from './simulation-options.js'
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
 * Who should run where now, with what: one decision for jobs that are all there. The mechanism places them on an empty
 * cluster; jobs that must wait are listed as waiting.
 *
 * @throws as `simulate`
 */
export function planNow(options: Omit<SimulationOptions, 'onPlan'>): Plan {
  const present = options.jobs.map((job): Job => ({ ...job, arrivalS: 0 }))
  return new Simulation(checkOptions({ ...options, jobs: present })).planOnce()
}

class Simulation {
  readonly #options: CheckedOptions
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

  constructor(options: CheckedOptions) {
    if (options.jobs.length === 0) throw new InvalidInputError('jobs', 'none', 'at least one job')
    this.#options = options
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

  planOnce(): Plan {
    this.#admit(0)
    this.#round(0)
    this.#mechanism.settle()
    return this.#plan()
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
          placement: servers.map((server, i) => ({ server, gpus: gpus[i]! })),
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
        rho: completionS / (job.iterations * table.iterationS[j]!),
      }
    })
    const firstArrivalS = table.arrivalS[0]!
    const gpuS = totals(this.#options.cluster).gpus * (nowS - firstArrivalS)
    const heldGpuS = jobs.reduce((sum, { attainedGpuS }) => sum + attainedGpuS, 0)
    return {
      policy: this.#options.policy,
      mechanism: this.#options.mechanism,
      jobs,
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
