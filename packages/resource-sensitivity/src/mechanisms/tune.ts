import type { EngineJob } from '../engine/engine-job.js'
import type { AllocationOption } from './allocation-options.js'
import { improveSeats } from './improve-seats.js'
import { WholeGpuMechanism } from './mechanism.js'
import { allocatedThroughput, allocateServer, type Resident } from './server-allocation.js'

const ROUNDING = 1e-9

/** Number of unchanged servers examined as seats of new jobs, for each number of free GPUs. */
const MAX_OPEN = 4

interface Allocation {
  readonly choice: readonly AllocationOption[]
  readonly value: number
}

/**
 * Gives every job at least the throughput of its GPU-proportional share, and the spare resources to the jobs that gain
 * most. Jobs on several servers come last. Their GPUs run in lockstep and need equal shares, so they get what all their
 * servers have left.
 */
export class TuneMechanism extends WholeGpuMechanism {
  /** Cache of allocations by server kind and jobs, since the same few combinations recur. */
  readonly #known = new Map<string, Allocation>()

  settle(): void {
    const { running } = this
    // Under a power budget, a seat on a server with another GPU type may be better, so all servers are examined.
    if (running.anyChanged && running.watts !== null) running.touchServers()
    const changed = running.takeChanged()
    const spread = new Set<EngineJob>()
    for (const server of changed) {
      for (const job of running.pool.residents[server]!) if (job.server < 0) spread.add(job)
    }
    for (const job of spread) this.running.feed(job, this.#optionsOf(job)[0]!)
    const open = running.pool.someWithFree(MAX_OPEN).filter((server) => !changed.includes(server))
    improveSeats(running, [...changed, ...open], (server) => this.#allocation(server, this.#wholeOn(server)).value)
    for (const server of new Set([...changed, ...running.takeChanged()])) this.#settle(server)
    // If resizing costs time, jobs on several servers keep the share that is always available.
    if (running.options.resizeCostS === 0) for (const job of spread) this.#raise(job)
  }

  /** Distributes what jobs on several servers leave of a server among its other jobs. */
  #settle(server: number): void {
    const whole = this.#wholeOn(server)
    if (whole.length === 0) return
    const { choice } = this.#allocation(server, whole)
    whole.forEach((job, i) => {
      this.running.feed(job, choice[i]!)
    })
  }

  /** Single-server jobs on this server, in class order. */
  #wholeOn(server: number): EngineJob[] {
    const whole = this.running.pool.residents[server]!.filter((job) => job.server === server)
    return whole.sort((a, b) => a.kind.number - b.kind.number || a.index - b.index)
  }

  /** Resources of a server for its single-server jobs. */
  #roomFor(server: number): { cpus: number; memoryGb: number } {
    const { pool } = this.running
    let { cpus, memoryGb } = pool.kinds[server]!
    for (const job of pool.residents[server]!) {
      if (job.server === server) continue
      cpus -= job.cpusPerGpu * pool.gpusOn(job, server)
      memoryGb -= job.memoryGbPerGpu * pool.gpusOn(job, server)
    }
    return { cpus, memoryGb }
  }

  /** Best known allocation of these jobs on the resources that the server's spread jobs leave. */
  #allocation(server: number, whole: readonly EngineJob[]): Allocation {
    const { cpus, memoryGb } = this.#roomFor(server)
    const fair = this.rules.fairShareOf(server)
    let key = `${cpus}/${memoryGb}/${fair.cpus}/${fair.memoryGb}/${fair.gpuTypes?.[0] ?? ''}/${this.rules.price}`
    for (const job of whole) key += `:${job.kind.number}`
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const jobs = whole.map((job): Resident => ({ gpus: job.gpus, options: this.rules.options(job, fair).options }))
    const choice = allocateServer(jobs, cpus, memoryGb)
    const value = allocatedThroughput(jobs, choice)
    const allocation = { choice: choice.map((k, i) => jobs[i]!.options[k]!), value }
    this.#known.set(key, allocation)
    return allocation
  }

  /** Gives a spread job the fastest option for which all its servers have enough left. */
  #raise(job: EngineJob): void {
    const { pool, heldCpus, heldMemoryGb } = this.running
    const { servers, gpus } = job.placement!
    let cpus = Number.POSITIVE_INFINITY
    let memoryGb = Number.POSITIVE_INFINITY
    servers.forEach((server, i) => {
      const kind = pool.kinds[server]!
      cpus = Math.min(cpus, job.cpusPerGpu + (kind.cpus - heldCpus[server]!) / gpus[i]!)
      memoryGb = Math.min(memoryGb, job.memoryGbPerGpu + (kind.memoryGb - heldMemoryGb[server]!) / gpus[i]!)
    })
    const [, ...faster] = this.#optionsOf(job)
    const best = faster.findLast((option) => option.cpus <= cpus + ROUNDING && option.memoryGb <= memoryGb + ROUNDING)
    if (best !== undefined) this.running.feed(job, best)
  }

  #optionsOf(job: EngineJob): readonly AllocationOption[] {
    return this.rules.options(job, this.rules.fairShare(job.placement!)).options
  }
}
