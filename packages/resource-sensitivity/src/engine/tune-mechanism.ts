import type { AllocationWeight } from '../optimal/allocation-problem.js'
import type { AllocationOptions } from './allocation-options.js'
import { improveSeats } from './improve-seats.js'
import type { Placer } from './placer.js'
import type { Resident } from './resident.js'
import type { RunningJobs } from './running-jobs.js'
import { allocatedThroughput, allocateServer } from './server-allocation.js'
import type { ShareRules } from './share-rules.js'
import { WholeGpuMechanism } from './whole-gpu-mechanism.js'

const ROUNDING = 1e-9

interface Allocation {
  readonly choice: readonly number[]
  readonly value: number
}

/**
 * Nobody runs slower than with the GPU-proportional share, and what some can spare others get. A job on several servers is
 * served last, from what all of them have left: its GPUs keep step, so each needs the same.
 */
export class TuneMechanism extends WholeGpuMechanism {
  readonly #rules: ShareRules
  readonly #weight: AllocationWeight
  /** Choices by who shares what kind of server: the same few mixtures come again and again. */
  readonly #known = new Map<string, Allocation>()

  constructor(running: RunningJobs, placer: Placer, rules: ShareRules, weight: AllocationWeight) {
    super(running, placer)
    this.#rules = rules
    this.#weight = weight
  }

  settle(): void {
    const { running } = this
    // A seat on another type of GPU may be worth more, wherever it is.
    if (running.anyChanged && running.watts !== null) running.touchServers()
    const changed = running.takeChanged()
    const spread = new Set<number>()
    for (const server of changed) {
      for (const job of running.pool.residents[server]!) if (running.table.server[job]! < 0) spread.add(job)
    }
    for (const job of spread) this.#feedSpread(job, 0)
    improveSeats(running, changed, (server) => this.#valueOf(server))
    for (const server of new Set([...changed, ...running.takeChanged()])) this.#settle(server)
    // Where it costs to be resized, who is on several servers keeps the share that is always there.
    if (running.resizeCostS === 0) for (const job of spread) this.#raise(job)
  }

  /** Share out what the jobs on several servers leave. */
  #settle(server: number): void {
    const { table, pool } = this.running
    const whole = pool.residents[server]!.filter((job) => table.server[job] === server)
    if (whole.length === 0) return
    whole.sort((a, b) => table.classOf[a]! - table.classOf[b]! || a - b)
    const fair = this.#rules.fairShareOf(server)
    const { choice } = this.#allocation(server, whole)
    if (this.running.resizeCostS > 0 && this.#keep(server, whole, choice)) return
    for (let i = 0; i < whole.length; i++) {
      const job = whole[i]!
      const option = this.#rules.options(table.profileOf[job]!, fair, table.gpus[job]!).options[choice[i]!]!
      this.running.feed(job, option.cpus, option.memoryGb, option.throughput)
    }
  }

  /**
   * Let who runs keep what it has and share out the rest, where that is possible and the best choice saves less than its resizes cost.
   *
   * @returns whether that was done
   */
  #keep(server: number, whole: readonly number[], best: readonly number[]): boolean {
    const { table, resizeCostS } = this.running
    const fair = this.#rules.fairShareOf(server)
    const room = this.#roomFor(server)
    const optionsOf = (job: number) => this.#rules.options(table.profileOf[job]!, fair, table.gpus[job]!).options
    const jobs: Resident[] = whole.map((job): Resident => {
      const held = {
        cpus: table.cpusPerGpu[job]!,
        memoryGb: table.memoryGbPerGpu[job]!,
        throughput: table.throughput[job]!,
      }
      return { gpus: table.gpus[job]!, options: table.rate[job]! > 0 ? [held] : optionsOf(job) }
    })
    const least = (of: 'cpus' | 'memoryGb') => jobs.reduce((sum, { gpus, options }) => sum + options[0]![of] * gpus, 0)
    if (least('cpus') > room.cpus + ROUNDING || least('memoryGb') > room.memoryGb + ROUNDING) return false
    const kept = allocateServer(jobs, room.cpus, room.memoryGb, this.#weight)
    let savedGpuS = 0
    for (let i = 0; i < whole.length; i++) {
      const job = whole[i]!
      const now = jobs[i]!.options[kept[i]!]!
      const then = optionsOf(job)[best[i]!]!
      const workS = table.remaining[job]! * table.iterationS[job]!
      const isResized = table.rate[job]! > 0 && (now.cpus !== then.cpus || now.memoryGb !== then.memoryGb)
      savedGpuS += (workS / now.throughput - workS / then.throughput - (isResized ? resizeCostS : 0)) * jobs[i]!.gpus
    }
    if (savedGpuS > 0) return false
    for (let i = 0; i < whole.length; i++) {
      const { cpus, memoryGb, throughput } = jobs[i]!.options[kept[i]!]!
      this.running.feed(whole[i]!, cpus, memoryGb, throughput)
    }
    return true
  }

  /** What a server has for the jobs that are on no other. */
  #roomFor(server: number): { cpus: number; memoryGb: number } {
    const { table, pool } = this.running
    let { cpus, memoryGb } = pool.kinds[server]!
    const residents = pool.residents[server]!
    for (let i = 0; i < residents.length; i++) {
      const job = residents[i]!
      if (table.server[job] === server) continue
      cpus -= table.cpusPerGpu[job]! * pool.residentGpus[server]![i]!
      memoryGb -= table.memoryGbPerGpu[job]! * pool.residentGpus[server]![i]!
    }
    return { cpus, memoryGb }
  }

  /** The best found for these jobs (in the order of their classes) beside the server's jobs on several servers. */
  #allocation(server: number, whole: readonly number[]): Allocation {
    const { table } = this.running
    const { cpus, memoryGb } = this.#roomFor(server)
    const fair = this.#rules.fairShareOf(server)
    let key = `${cpus}/${memoryGb}/${fair.cpus}/${fair.memoryGb}/${fair.gpuTypes?.[0] ?? ''}/${this.#rules.price}`
    for (const job of whole) key += `:${table.classOf[job]}`
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const jobs: Resident[] = whole.map((job) => ({
      gpus: table.gpus[job]!,
      options: this.#rules.options(table.profileOf[job]!, fair, table.gpus[job]!).options,
    }))
    const choice = allocateServer(jobs, cpus, memoryGb, this.#weight)
    const allocation = { choice, value: allocatedThroughput(jobs, choice, this.#weight) }
    this.#known.set(key, allocation)
    return allocation
  }

  #valueOf(server: number): number {
    const { table, pool } = this.running
    const whole = pool.residents[server]!.filter((job) => table.server[job] === server)
    return this.#allocation(
      server,
      whole.sort((a, b) => table.classOf[a]! - table.classOf[b]! || a - b),
    ).value
  }

  /** The fastest option for which all servers of a job have enough left. */
  #raise(job: number): void {
    const { pool, heldCpus, heldMemoryGb, table } = this.running
    const { servers, gpus } = this.running.placementOf(job)
    let cpus = Number.POSITIVE_INFINITY
    let memoryGb = Number.POSITIVE_INFINITY
    servers.forEach((server, i) => {
      const kind = pool.kinds[server]!
      cpus = Math.min(cpus, table.cpusPerGpu[job]! + (kind.cpus - heldCpus[server]!) / gpus[i]!)
      memoryGb = Math.min(memoryGb, table.memoryGbPerGpu[job]! + (kind.memoryGb - heldMemoryGb[server]!) / gpus[i]!)
    })
    const { options } = this.#optionsOf(job)
    for (let k = options.length - 1; k > 0; k--) {
      if (options[k]!.cpus <= cpus + ROUNDING && options[k]!.memoryGb <= memoryGb + ROUNDING) {
        this.#feedSpread(job, k)
        return
      }
    }
  }

  #feedSpread(job: number, k: number): void {
    const option = this.#optionsOf(job).options[k]!
    this.running.feed(job, option.cpus, option.memoryGb, option.throughput)
  }

  #optionsOf(job: number): AllocationOptions {
    const { table } = this.running
    const share = this.#rules.fairShare(this.running.placementOf(job))
    return this.#rules.options(table.profileOf[job]!, share, table.gpus[job]!)
  }
}
