import type { EngineJob, JobClass, Seat } from '../engine/engine-job.js'
import type { RunningJobs } from '../engine/running-jobs.js'
import type { WaitingQueue } from '../engine/service-order.js'
import { type PerGpuShare, throughputAt } from '../profile/job-profile.js'
import type { AllocationOption } from './allocation.js'
import type { Mechanism } from './mechanism.js'

const ROUNDING = 1e-9

/**
 * Gives each job its full demand; a job whose demand does not fit waits, even if GPUs are idle. A demand above the
 * capacity of every server is reduced to the capacity of the largest. A job with more GPUs than any server demands only
 * the fair share.
 */
export class GreedyMechanism implements Mechanism {
  readonly #running: RunningJobs
  /** Demand per GPU and its throughput, by class. */
  readonly #demand: AllocationOption[] = []
  /** Classes whose jobs do not fit anywhere. */
  readonly #failed = new Set<number>()

  constructor(running: RunningJobs) {
    this.#running = running
  }

  plan(order: readonly EngineJob[]): void {
    const { pool } = this.#running
    this.#failed.clear()
    // All running jobs release their seats. In policy order, each takes its old seat again if the seat is still free.
    const running = order.filter(({ state }) => state === 'running')
    const before = new Map(running.map((job) => [job, { ...job }]))
    for (const job of running) this.#running.preempt(job)
    for (const job of order) {
      if (pool.freeInTotal === 0) break
      if (job.gpus > pool.freeInTotal) continue
      const seat = before.get(job)
      if (seat !== undefined && this.#fits(seat.placement!, job.kind)) this.#running.resume(job, seat)
      else this.#startSomewhere(job)
    }
  }

  fill(queue: WaitingQueue): void {
    const { pool } = this.#running
    this.#failed.clear()
    while (pool.freeInTotal > 0) {
      const job = queue.first(pool.freeInTotal, this.#failed)
      if (job === null) break
      if (this.#startSomewhere(job)) queue.remove(job)
    }
  }

  settle(): void {
    this.#running.takeChanged()
  }

  #startSomewhere(job: EngineJob): boolean {
    const placement = this.#failed.has(job.kind.number) ? null : this.#find(job.kind)
    if (placement === null) this.#failed.add(job.kind.number)
    else this.#start(job, placement)
    return placement !== null
  }

  #start(job: EngineJob, placement: readonly Seat[]): void {
    this.#running.start(job, placement)
    this.#running.feed(job, this.#demandOf(job.kind))
  }

  #find(kind: JobClass): Seat[] | null {
    const { pool } = this.#running
    const room = (server: number) => this.#room(server, kind)
    const server = pool.bestFit(kind.gpus, (each) => room(each) >= kind.gpus)
    return server >= 0 ? [{ server, gpus: kind.gpus }] : pool.spread(kind.gpus, room)
  }

  #fits(placement: readonly Seat[], kind: JobClass): boolean {
    const { freeGpus } = this.#running.pool
    return placement.every(({ server, gpus }) => freeGpus[server]! >= gpus && this.#room(server, kind) >= gpus)
  }

  /** Number of GPUs of a class for which a server still has CPU and memory. */
  #room(server: number, of: JobClass): number {
    const { pool, loads } = this.#running
    const { cpus, memoryGb } = this.#demandOf(of)
    const kind = pool.kinds[server]!
    const { heldCpus, heldMemoryGb } = loads[server]!
    const byCpu = (kind.cpus - heldCpus) / cpus
    const byMemory = memoryGb === 0 ? Number.POSITIVE_INFINITY : (kind.memoryGb - heldMemoryGb) / memoryGb
    return Math.floor(Math.min(byCpu, byMemory) + ROUNDING)
  }

  #demandOf(of: JobClass): AllocationOption {
    const known = this.#demand[of.number]
    if (known !== undefined) return known
    const { cpus, memoryGb } = this.#demandOn(of)
    const demand = { cpus, memoryGb, throughput: throughputAt(of.profile, cpus, memoryGb) }
    this.#demand[of.number] = demand
    return demand
  }

  #demandOn({ profile, gpus }: JobClass): PerGpuShare {
    // The table has no data below its first point, so a smaller demand is raised to that point, as in the other
    // mechanisms.
    const cpus = Math.max(profile.demand.cpus, profile.cpusPerGpu[0]!)
    const memoryGb = Math.max(profile.demand.memoryGb, profile.memoryGbPerGpu[0]!)
    const { servers } = this.#running.options.cluster
    const wholeOn = servers.filter((kind) => kind.gpus >= gpus)
    if (wholeOn.length === 0) {
      return {
        cpus: Math.min(cpus, ...servers.map((kind) => kind.cpus / kind.gpus)),
        memoryGb: Math.min(memoryGb, ...servers.map((kind) => kind.memoryGb / kind.gpus)),
      }
    }
    const kind = wholeOn.reduce((best, other) => (other.cpus > best.cpus ? other : best))
    return { cpus: Math.min(cpus, kind.cpus / gpus), memoryGb: Math.min(memoryGb, kind.memoryGb / gpus) }
  }
}
