import { type EngineJob, totals } from '../engine/engine-job.js'
import type { RunningJobs } from '../engine/running-jobs.js'
import type { PerGpuShare } from '../profile/job-profile.js'

/** Maximum number of servers that are examined to make room for a job. */
const MAX_CLEARED = 32

/**
 * Seats jobs whose GPUs are known to be free, largest first: on one server if possible, else on few.
 *
 * In general, a job takes the server with the fewest sufficient free GPUs, which keeps whole servers free for large
 * jobs. Under `tune`, lenders sit beside borrowers: a job that wants more than its share goes to the server with the
 * most spare CPU or memory per free GPU, and a job that wants less to the one with the least. If spreading slows jobs,
 * `tune` also moves single-server jobs to avoid spreading another job, if that gains more than their restarts cost.
 */
export class Placer {
  readonly #running: RunningJobs
  readonly #mixes: boolean
  readonly #consolidates: boolean
  /** GPU-proportional share of the whole cluster. */
  readonly #fair: PerGpuShare

  constructor(running: RunningJobs) {
    const { mechanism, spreadPenalty, profiles, cluster } = running.options
    this.#running = running
    this.#mixes = mechanism === 'tune'
    this.#consolidates = this.#mixes && (spreadPenalty > 1 || profiles.some((profile) => profile.spreadPenalty > 1))
    const { gpus, cpus, memoryGb } = totals(cluster)
    this.#fair = { cpus: cpus / gpus, memoryGb: memoryGb / gpus }
  }

  place(jobs: EngineJob[]): void {
    const appetite = (job: EngineJob) => Math.max(...this.#appetites(job))
    jobs.sort((a, b) => b.gpus - a.gpus || (this.#mixes ? appetite(b) - appetite(a) : 0))
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
    const { pool, wantedCpus, wantedMemoryGb } = this.#running
    if (!this.#mixes) return pool.bestFit(job.gpus)
    const cpuSlack = (server: number) => this.#slack(server, pool.kinds[server]!.cpus, wantedCpus[server]!)
    const memorySlack = (server: number) => this.#slack(server, pool.kinds[server]!.memoryGb, wantedMemoryGb[server]!)
    const [cpu, memory] = this.#appetites(job)
    if (Math.max(cpu, memory) <= 1) {
      return pool.minOf(job.gpus, (server) => Math.min(cpuSlack(server), memorySlack(server)))
    }
    const slack = cpu >= memory ? cpuSlack : memorySlack
    return pool.minOf(job.gpus, (server) => -slack(server))
  }

  /** Unclaimed part of a server's CPU or memory per free GPU, relative to the GPU-proportional share. */
  #slack(server: number, has: number, wanted: number): number {
    const { kinds, freeGpus } = this.#running.pool
    return ((has - wanted) / freeGpus[server]!) * (kinds[server]!.gpus / has)
  }

  /** Demand for CPU and memory per GPU, relative to the cluster's GPU-proportional share. */
  #appetites({ profile: { demand } }: EngineJob): readonly [cpu: number, memory: number] {
    return [demand.cpus / this.#fair.cpus, demand.memoryGb / this.#fair.memoryGb]
  }
}
