import type { JobProfile, PerGpuShare } from '../profile/job-profile.js'
import type { RunningJobs } from './running-jobs.js'

/** Servers looked at to clear one for a job, and running jobs on several servers looked at to bring together. */
const MOST_CLEARED = 32
const MOST_GATHERED = 16

/**
 * Seats jobs whose GPUs are known to be free, the largest first: on one server where that is possible, else on few.
 *
 * Without `mix`, a job takes the server with the fewest free GPUs that suffice, which keeps whole servers free for large jobs.
 * With `mix`, a job that wants more than its share goes where most is left for each free GPU, and one that is content with less
 * to where least is left, so that lenders sit beside borrowers. Where being on several servers costs jobs something, that comes second to the
 * best fit, and jobs that run whole are moved to make room for one that would be spread, if what it gains is more than their restarts cost.
 */
export class Placer {
  readonly #running: RunningJobs
  readonly #profiles: readonly JobProfile[]
  readonly #mix: boolean
  readonly #consolidates: boolean
  /** GPU-proportional share of the whole cluster. */
  readonly #fair: PerGpuShare

  constructor(running: RunningJobs, profiles: readonly JobProfile[], mix: boolean) {
    this.#running = running
    this.#profiles = profiles
    this.#mix = mix
    this.#consolidates = mix && running.spreadingCosts
    const sum = (of: 'gpus' | 'cpus' | 'memoryGb') => running.pool.kinds.reduce((total, kind) => total + kind[of], 0)
    this.#fair = { cpus: sum('cpus') / sum('gpus'), memoryGb: sum('memoryGb') / sum('gpus') }
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
    const cleared = this.#clear(job, gpus)
    if (cleared >= 0) {
      pool.take(cleared, gpus)
      this.#running.start(job, { servers: [cleared], gpus: [gpus] })
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

  /** Bring together running jobs that sit on several servers, where one can be cleared. */
  gather(): void {
    if (!this.#consolidates) return
    const { table, pool } = this.#running
    let tries = 0
    for (const job of [...table.spread.keys()]) {
      if (++tries > MOST_GATHERED) return
      const gpus = table.gpus[job]!
      if (!this.#gains(job, gpus, gpus * this.#running.restartCostS)) continue
      const free = pool.bestFit(gpus, null)
      const server = free >= 0 ? free : this.#clear(job, gpus)
      if (server >= 0) this.#running.move(job, { servers: [server], gpus: [gpus] })
    }
  }

  /**
   * Make room for all GPUs of a job on one server: its smaller jobs move, each whole, to where they fit best.
   *
   * @returns the server; -1 where none can be cleared, or at a cost above the gain
   */
  #clear(job: number, gpus: number): number {
    if (!this.#consolidates) return -1
    const { pool } = this.#running
    let tries = 0
    for (let free = gpus - 1; free >= 0; free--) {
      for (const server of pool.withFree(free)) {
        if (pool.kinds[server]!.gpus < gpus) continue
        if (++tries > MOST_CLEARED) return -1
        const moves = this.#movesFrom(server, gpus, job)
        if (moves === null) continue
        const movedGpus = moves.reduce((sum, [moved]) => sum + this.#running.table.gpus[moved]!, 0)
        if (!this.#gains(job, gpus, movedGpus * this.#running.restartCostS)) continue
        for (const [moved, to] of moves) {
          this.#running.move(moved, { servers: [to], gpus: [this.#running.table.gpus[moved]!] })
        }
        return server
      }
    }
    return -1
  }

  /** Which jobs of a server must go where so that so many GPUs are free there; null where they cannot. */
  #movesFrom(server: number, gpus: number, forJob: number): (readonly [number, number])[] | null {
    const { pool, table } = this.#running
    let missing = gpus - pool.freeGpus[server]!
    const movable = pool.residents[server]!.filter((job) => table.server[job] === server && job !== forJob)
    movable.sort((a, b) => table.gpus[a]! - table.gpus[b]! || a - b)
    const moves: (readonly [number, number])[] = []
    const promised = new Map<number, number>()
    for (const job of movable) {
      if (missing <= 0) break
      const size = table.gpus[job]!
      const to = pool.bestFit(
        size,
        (other) =>
          other === server || pool.freeGpus[other]! - (promised.get(other) ?? 0) < size ? Number.POSITIVE_INFINITY : 0,
        true,
      )
      if (to < 0) continue
      promised.set(to, (promised.get(to) ?? 0) + size)
      moves.push([job, to])
      missing -= size
    }
    return missing > 0 ? null : moves
  }

  /** Whether a job gains more GPU time by not being spread than others pay for it. */
  #gains(job: number, gpus: number, costGpuS: number): boolean {
    const { table } = this.#running
    const savedPart = 1 - 1 / this.#running.spreadPenaltyOf(job)
    return savedPart * table.remaining[job]! * table.fairIterationS[job]! * gpus > costGpuS
  }

  #choose(job: number, gpus: number): number {
    const { pool } = this.#running
    if (!this.#mix) return pool.bestFit(gpus, null)
    const fitting = (score: (server: number) => number) =>
      this.#consolidates && this.#running.restartCostS > 0 ? pool.bestFit(gpus, score) : pool.leastOf(gpus, score)
    const { demand } = this.#profiles[this.#running.table.profileOf[job]!]!
    const cpuAppetite = demand.cpus / this.#fair.cpus
    const memoryAppetite = demand.memoryGb / this.#fair.memoryGb
    if (Math.max(cpuAppetite, memoryAppetite) <= 1) {
      return fitting((server) => Math.min(this.#cpuSlack(server), this.#memorySlack(server)))
    }
    return cpuAppetite >= memoryAppetite
      ? fitting((server) => -this.#cpuSlack(server))
      : fitting((server) => -this.#memorySlack(server))
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

  /** What a job wants beside each GPU, in parts of the cluster's GPU-proportional share. */
  #appetite(job: number): number {
    const { demand } = this.#profiles[this.#running.table.profileOf[job]!]!
    return Math.max(demand.cpus / this.#fair.cpus, demand.memoryGb / this.#fair.memoryGb)
  }
}
