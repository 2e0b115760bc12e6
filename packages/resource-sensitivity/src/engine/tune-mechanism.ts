import type { AllocationOptions } from '../matrix/allocation-options.js'
import type { AllocationWeight } from '../optimal/allocation-problem.js'
import type { Placer } from './placer.js'
import type { RunningJobs } from './running-jobs.js'
import { allocatedThroughput, allocateServer, type Resident } from './server-allocation.js'
import type { ShareRules } from './share-rules.js'
import { WholeGpuMechanism } from './whole-gpu-mechanism.js'

const ROUNDING = 1e-9

/** Exchanges of seats tried after each round at most: in large clusters the first placement is nearly as good. */
const MOST_EXCHANGES = 1000

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
    const changed = running.takeChanged()
    const spread = new Set<number>()
    for (const server of changed) {
      for (const job of running.pool.residents[server]!) if (running.table.server[job]! < 0) spread.add(job)
    }
    for (const job of spread) this.#feedSpread(job, 0)
    this.#exchange(changed)
    for (const server of changed) this.#settle(server)
    for (const job of spread) this.#raise(job)
  }

  /** Share out what the jobs on several servers leave. */
  #settle(server: number): void {
    const { table, pool } = this.running
    const whole = pool.residents[server]!.filter((job) => table.server[job] === server)
    if (whole.length === 0) return
    whole.sort((a, b) => table.classOf[a]! - table.classOf[b]! || a - b)
    const fair = this.#rules.fairShareOf(server)
    const { choice } = this.#allocation(server, whole)
    for (let i = 0; i < whole.length; i++) {
      const job = whole[i]!
      const option = this.#rules.options(table.profileOf[job]!, fair).options[choice[i]!]!
      this.running.feed(job, option.cpus, option.memoryGb, option.throughput)
    }
  }

  /** The best found for these jobs (in the order of their classes) beside the server's jobs on several servers. */
  #allocation(server: number, whole: readonly number[]): Allocation {
    const { table, pool } = this.running
    let { cpus, memoryGb } = pool.kinds[server]!
    const residents = pool.residents[server]!
    for (let i = 0; i < residents.length; i++) {
      const job = residents[i]!
      if (table.server[job] === server) continue
      cpus -= table.cpusPerGpu[job]! * pool.residentGpus[server]![i]!
      memoryGb -= table.memoryGbPerGpu[job]! * pool.residentGpus[server]![i]!
    }
    const fair = this.#rules.fairShareOf(server)
    let key = `${cpus}/${memoryGb}/${fair.cpus}/${fair.memoryGb}`
    for (const job of whole) key += `:${table.classOf[job]}`
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const jobs: Resident[] = whole.map((job) => ({
      gpus: table.gpus[job]!,
      options: this.#rules.options(table.profileOf[job]!, fair).options,
    }))
    const choice = allocateServer(jobs, cpus, memoryGb, this.#weight)
    const allocation = { choice, value: allocatedThroughput(jobs, choice, this.#weight) }
    this.#known.set(key, allocation)
    return allocation
  }

  /**
   * Let jobs of equal size that have just been seated change places between servers as long as that helps. Who was running
   * stays where it is.
   */
  #exchange(changed: readonly number[]): void {
    const { table, pool } = this.running
    const isNew = (job: number) => table.server[job]! >= 0 && table.rate[job] === 0
    const newcomers = changed.flatMap((server) => pool.residents[server]!.filter(isNew))
    if (newcomers.length < 2) return
    let tries = 0
    for (let a = 0; a < newcomers.length; a++) {
      for (let b = a + 1; b < newcomers.length; b++) {
        const [one, other] = [newcomers[a]!, newcomers[b]!]
        if (table.gpus[one] !== table.gpus[other] || table.classOf[one] === table.classOf[other]) continue
        if (table.server[one] === table.server[other]) continue
        if (++tries > MOST_EXCHANGES) return
        const before = this.#valueOf(table.server[one]!) + this.#valueOf(table.server[other]!)
        this.running.exchange(one, other)
        const after = this.#valueOf(table.server[one]!) + this.#valueOf(table.server[other]!)
        if (after <= before + ROUNDING) this.running.exchange(one, other)
      }
    }
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
    return this.#rules.options(this.running.table.profileOf[job]!, this.#rules.fairShare(this.running.placementOf(job)))
  }
}
