import type { ServerKind } from '../cluster/cluster.js'
import { type JobProfile, type PerGpuShare, throughputAt } from '../profile/job-profile.js'
import { RUNNING } from './job-table.js'
import type { Mechanism } from './mechanism.js'
import type { RunningJobs } from './running-jobs.js'
import type { Placement } from './server-pool.js'
import type { ShareRules } from './share-rules.js'
import type { WaitingQueue } from './waiting-queue.js'

const ROUNDING = 1e-9

/**
 * Everybody gets all that it asks for, or waits, even while GPUs are idle. A demand that no server could give is cut to what
 * the largest server has; a job of more GPUs than a server has asks for the fair share.
 */
export class GreedyMechanism implements Mechanism {
  readonly #running: RunningJobs
  readonly #profiles: readonly JobProfile[]
  readonly #rules: ShareRules
  /** Per class: what it asks for beside each GPU. */
  readonly #demand: PerGpuShare[] = []
  readonly #failed = new Set<number>()
  readonly #servers: readonly ServerKind[]

  constructor(running: RunningJobs, profiles: readonly JobProfile[], rules: ShareRules) {
    this.#running = running
    this.#profiles = profiles
    this.#rules = rules
    this.#servers = [...running.pool.kinds]
  }

  plan(order: readonly number[]): void {
    const { table, pool } = this.#running
    this.#failed.clear()
    // Everybody stands up; those whose turn comes while their seat is still free sit down on it again.
    const seats = new Map<number, { readonly seat: Placement; readonly restarts: number; readonly countedS: number }>()
    for (const job of order) {
      if (table.state[job] !== RUNNING) continue
      const seat = this.#running.placementOf(job)
      seats.set(job, { seat, restarts: table.restarts[job]!, countedS: table.countedS[job]! })
    }
    for (const job of seats.keys()) this.#running.preempt(job)
    for (const job of order) {
      if (pool.freeInTotal === 0) break
      const c = table.classOf[job]!
      if (table.gpus[job]! > pool.freeInTotal) continue
      const before = seats.get(job)
      if (before !== undefined && this.#fits(before.seat, c)) {
        this.#start(job, before.seat)
        this.#running.undoRestart(job, before.restarts, before.countedS)
        continue
      }
      const placement = !this.#failed.has(c) ? this.#find(c, table.gpus[job]!) : null
      if (placement === null) this.#failed.add(c)
      else this.#start(job, placement)
    }
  }

  fill(queue: WaitingQueue): void {
    const { table, pool } = this.#running
    this.#failed.clear()
    while (pool.freeInTotal > 0) {
      const job = queue.first(pool.freeInTotal, this.#failed)
      if (job < 0) break
      const c = table.classOf[job]!
      const placement = this.#find(c, table.gpus[job]!)
      if (placement === null) {
        this.#failed.add(c)
        continue
      }
      queue.shift(job)
      this.#start(job, placement)
    }
  }

  settle(): void {
    this.#running.takeChanged()
  }

  #start(job: number, placement: Placement): void {
    const { table, pool } = this.#running
    placement.servers.forEach((server, i) => {
      pool.take(server, placement.gpus[i]!)
    })
    this.#running.start(job, placement)
    const { cpus, memoryGb } = this.#demandOf(table.classOf[job]!)
    this.#running.feed(job, cpus, memoryGb, throughputAt(this.#profiles[table.profileOf[job]!]!, cpus, memoryGb))
  }

  #find(c: number, gpus: number): Placement | null {
    const { pool } = this.#running
    const server = pool.bestFit(
      gpus,
      (candidate) => (this.#room(candidate, c) >= gpus ? 0 : Number.POSITIVE_INFINITY),
      true,
    )
    if (server >= 0) return { servers: [server], gpus: [gpus] }
    return pool.spread(gpus, (candidate) => this.#room(candidate, c))
  }

  #fits({ servers, gpus }: Placement, c: number): boolean {
    const { pool } = this.#running
    return servers.every((server, i) => pool.freeGpus[server]! >= gpus[i]! && this.#room(server, c) >= gpus[i]!)
  }

  /** For how many GPUs of a class a server still has CPU and memory. */
  #room(server: number, c: number): number {
    const { pool, heldCpus, heldMemoryGb } = this.#running
    const { cpus, memoryGb } = this.#demandOf(c)
    const kind = pool.kinds[server]!
    const byCpu = (kind.cpus - heldCpus[server]!) / cpus
    const byMemory = memoryGb === 0 ? Number.POSITIVE_INFINITY : (kind.memoryGb - heldMemoryGb[server]!) / memoryGb
    return Math.floor(Math.min(byCpu, byMemory) + ROUNDING)
  }

  #demandOf(c: number): PerGpuShare {
    const { gpusOfClass, profileOfClass } = this.#running.table
    this.#demand[c] ??= this.#demandOn(this.#profiles[profileOfClass[c]!]!, gpusOfClass[c]!, this.#servers)
    return this.#demand[c]
  }

  #demandOn(profile: JobProfile, gpus: number, kinds: readonly ServerKind[]): PerGpuShare {
    // Nothing is known of less than where the table begins: who asks for less there has that, as the other mechanisms give it.
    const demand = {
      cpus: Math.max(profile.demand.cpus, profile.cpusPerGpu[0]!),
      memoryGb: Math.max(profile.demand.memoryGb, profile.memoryGbPerGpu[0]!),
    }
    const wholeOn = kinds.filter((kind) => kind.gpus >= gpus)
    if (wholeOn.length === 0) {
      const fair = kinds.map((_, server) => this.#rules.fairShareOf(server))
      return {
        cpus: Math.min(demand.cpus, ...fair.map(({ cpus }) => cpus)),
        memoryGb: Math.min(demand.memoryGb, ...fair.map(({ memoryGb }) => memoryGb)),
      }
    }
    const kind = wholeOn.reduce((best, other) => (other.cpus > best.cpus ? other : best))
    return { cpus: Math.min(demand.cpus, kind.cpus / gpus), memoryGb: Math.min(demand.memoryGb, kind.memoryGb / gpus) }
  }
}
