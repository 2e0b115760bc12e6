import type { EngineJob } from '../engine/engine-job.js'
import type { RunningJobs } from '../engine/running-jobs.js'
import type { PerGpuShare } from '../profile/job-profile.js'

/** Maximum number of servers that are examined to make room for a job. */
const MAX_CLEARED = 32

/**
 * Seats jobs whose GPUs are known to be free, largest first: on one server if possible, else on few.
 *
 * Without `mix`, a job takes the server with the fewest sufficient free GPUs, which keeps whole servers free for large
 * jobs. With `mix`, a job that wants more than its share goes to the server with the most spare CPU or memory per free GPU, and a
 * job that wants less to the one with the least, so that lenders sit beside borrowers. If spreading slows jobs,
 * single-server jobs are moved to avoid spreading another job if that gains more than their restarts cost.
 */
export class Placer {
  readonly #running: RunningJobs
  readonly #mix: boolean
  readonly #consolidates: boolean
  /** GPU-proportional share of the whole cluster. */
  readonly #fair: PerGpuShare

  constructor(running: RunningJobs, mix: boolean) {
    this.#running = running
    this.#mix = mix
    const { spreadPenalty, profiles } = running.options
    this.#consolidates = mix && (spreadPenalty > 1 || profiles.some((profile) => profile.spreadPenalty > 1))
    const sum = (of: 'gpus' | 'cpus' | 'memoryGb') => running.pool.kinds.reduce((total, kind) => total + kind[of], 0)
    this.#fair = { cpus: sum('cpus') / sum('gpus'), memoryGb: sum('memoryGb') / sum('gpus') }
  }

  place(jobs: EngineJob[]): void {
    jobs.sort((a, b) => b.gpus - a.gpus || (this.#mix ? this.#appetite(b) - this.#appetite(a) : 0))
    for (const job of jobs) {
      let server = this.#choose(job)
      if (server < 0) server = this.#clear(job)
      const placement =
        server >= 0 ? { servers: [server], gpus: [job.gpus] } : this.#running.pool.spread(job.gpus, null)
      if (placement === null) throw new Error(`job ${job.id} was promised GPUs that are not free`)
      this.#running.start(job, placement)
    }
  }

  /**
   * Makes room for all GPUs of a job on one server by moving the server's smaller jobs, each to its best fit elsewhere.
   *
   * @returns the server; -1 if no server can be cleared, or only at a cost above the gain
   */
  #clear(job: EngineJob): number {
    if (!this.#consolidates) return -1
    const { pool, options } = this.#running
    let tries = 0
    for (let free = job.gpus - 1; free >= 0; free--) {
      for (const server of pool.withFree(free)) {
        if (pool.kinds[server]!.gpus < job.gpus) continue
        if (++tries > MAX_CLEARED) return -1
        const moves = this.#movesFrom(server, job)
        if (moves === null) continue
        const movedGpus = moves.reduce((sum, [moved]) => sum + moved.gpus, 0)
        if (!this.#gains(job, movedGpus * options.restartCostS)) continue
        for (const [moved, to] of moves) {
          this.#running.preempt(moved)
          this.#running.start(moved, { servers: [to], gpus: [moved.gpus] })
        }
        return server
      }
    }
    return -1
  }

  /** Moves of a server's jobs that free enough GPUs for another job; null if impossible. */
  #movesFrom(server: number, forJob: EngineJob): (readonly [EngineJob, number])[] | null {
    const { pool } = this.#running
    let missing = forJob.gpus - pool.freeGpus[server]!
    const movable = pool.residents[server]!.filter((job) => job.server === server && job !== forJob)
    movable.sort((a, b) => a.gpus - b.gpus || a.index - b.index)
    const moves: (readonly [EngineJob, number])[] = []
    const promised = new Map<number, number>()
    for (const job of movable) {
      if (missing <= 0) break
      const isFull = (other: number) =>
        other === server || pool.freeGpus[other]! - (promised.get(other) ?? 0) < job.gpus
      const to = pool.bestFit(job.gpus, (other) => (isFull(other) ? Number.POSITIVE_INFINITY : 0))
      if (to < 0) continue
      promised.set(to, (promised.get(to) ?? 0) + job.gpus)
      moves.push([job, to])
      missing -= job.gpus
    }
    return missing > 0 ? null : moves
  }

  /** Whether a job gains more GPU time by not being spread than the moves cost others. */
  #gains(job: EngineJob, costGpuS: number): boolean {
    const savedPart = 1 - 1 / this.#running.spreadPenaltyOf(job)
    return savedPart * job.remaining * job.kind.fairIterationS * job.gpus > costGpuS
  }

  #choose(job: EngineJob): number {
    const { pool } = this.#running
    if (!this.#mix) return pool.bestFit(job.gpus)
    const cpuAppetite = job.profile.demand.cpus / this.#fair.cpus
    const memoryAppetite = job.profile.demand.memoryGb / this.#fair.memoryGb
    if (Math.max(cpuAppetite, memoryAppetite) <= 1) {
      return pool.minOf(job.gpus, (server) => Math.min(this.#cpuSlack(server), this.#memorySlack(server)))
    }
    return cpuAppetite >= memoryAppetite
      ? pool.minOf(job.gpus, (server) => -this.#cpuSlack(server))
      : pool.minOf(job.gpus, (server) => -this.#memorySlack(server))
  }

  /** Unclaimed CPU of a server per free GPU, relative to the GPU-proportional share. */
  #cpuSlack(server: number): number {
    const { pool, wantedCpus } = this.#running
    const { gpus, cpus } = pool.kinds[server]!
    return ((cpus - wantedCpus[server]!) / pool.freeGpus[server]!) * (gpus / cpus)
  }

  /** Same for memory. */
  #memorySlack(server: number): number {
    const { pool, wantedMemoryGb } = this.#running
    const { gpus, memoryGb } = pool.kinds[server]!
    return ((memoryGb - wantedMemoryGb[server]!) / pool.freeGpus[server]!) * (gpus / memoryGb)
  }

  /** Demand per GPU, relative to the cluster's GPU-proportional share: the larger of CPU and memory. */
  #appetite({ profile: { demand } }: EngineJob): number {
    return Math.max(demand.cpus / this.#fair.cpus, demand.memoryGb / this.#fair.memoryGb)
  }
}
