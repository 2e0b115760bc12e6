import type { JobProfile } from '../matrix/job-profile.js'
import type { RunningJobs } from './running-jobs.js'

/**
 * Seats jobs whose GPUs are known to be free, the largest first: on one server where that is possible, else on few.
 *
 * Without `mix`, a job takes the server with the fewest free GPUs that suffice, which keeps whole servers free for large jobs.
 * With `mix`, a job that wants more than its share goes where most is left for each free GPU, and one that is content with less
 * to where least is left, so that lenders sit beside borrowers.
 */
export class Placer {
  readonly #running: RunningJobs
  readonly #profiles: readonly JobProfile[]
  readonly #mix: boolean

  constructor(running: RunningJobs, profiles: readonly JobProfile[], mix: boolean) {
    this.#running = running
    this.#profiles = profiles
    this.#mix = mix
  }

  place(jobs: number[]): void {
    const { gpus } = this.#running.table
    jobs.sort((a, b) => gpus[b]! - gpus[a]! || (this.#mix ? this.#appetite(b) - this.#appetite(a) : 0))
    for (const job of jobs) this.#place(job, gpus[job]!)
  }

  #place(job: number, gpus: number): void {
    const { pool } = this.#running
    const server = this.#choose(job, gpus)
    if (server >= 0) {
      pool.take(server, gpus)
      this.#running.start(job, { servers: [server], gpus: [gpus] })
      return
    }
    const placement = pool.spread(gpus, null)
    if (placement === null)
      throw new Error(`job ${this.#running.table.jobs[job]!.id} was promised GPUs that are not free`)
    placement.servers.forEach((taken, i) => {
      pool.take(taken, placement.gpus[i]!)
    })
    this.#running.start(job, placement)
  }

  #choose(job: number, gpus: number): number {
    const { pool } = this.#running
    if (!this.#mix) return pool.bestFit(gpus, null)
    const { demand } = this.#profiles[this.#running.table.profileOf[job]!]!
    const { gpus: gpusThere, cpus, memoryGb } = pool.kinds[0]!
    const cpuAppetite = (demand.cpus * gpusThere) / cpus
    const memoryAppetite = (demand.memoryGb * gpusThere) / memoryGb
    if (Math.max(cpuAppetite, memoryAppetite) <= 1) {
      return pool.leastOf(gpus, (server) => Math.min(this.#cpuSlack(server), this.#memorySlack(server)))
    }
    return cpuAppetite >= memoryAppetite
      ? pool.leastOf(gpus, (server) => -this.#cpuSlack(server))
      : pool.leastOf(gpus, (server) => -this.#memorySlack(server))
  }

  /** CPU that nobody on a server wants, for each of its free GPUs, in parts of the GPU-proportional share. */
  #cpuSlack(server: number): number {
    const { pool, wantedCpus } = this.#running
    const { gpus, cpus } = pool.kinds[server]!
    return ((cpus - wantedCpus[server]!) / pool.freeGpus[server]!) * (gpus / cpus)
  }

  /** The same of memory. */
  #memorySlack(server: number): number {
    const { pool, wantedMemoryGb } = this.#running
    const { gpus, memoryGb } = pool.kinds[server]!
    return ((memoryGb - wantedMemoryGb[server]!) / pool.freeGpus[server]!) * (gpus / memoryGb)
  }

  /** What a job wants beside each GPU, in parts of the first server's GPU-proportional share. */
  #appetite(job: number): number {
    const { pool, table } = this.#running
    const { gpus, cpus, memoryGb } = pool.kinds[0]!
    const { demand } = this.#profiles[table.profileOf[job]!]!
    return Math.max((demand.cpus * gpus) / cpus, (demand.memoryGb * gpus) / memoryGb)
  }
}
