import type { EngineJob, Seat } from '../engine/engine-job.js'
import type { RunningJobs } from '../engine/running-jobs.js'
import { inOrder, type WaitingQueue } from '../engine/service-order.js'
import type { ShareRules } from './share-rules.js'

export interface Mechanism {
  /**
   * Decides afresh which jobs run.
   *
   * @param order all unfinished jobs in the policy's order
   * @param refused jobs that can neither start nor move; later jobs of their classes cannot start
   */
  plan(order: readonly EngineJob[], refused: ReadonlySet<EngineJob>): void
  /** Starts waiting jobs on free resources without preemption. */
  fill(queue: WaitingQueue, refused: ReadonlySet<EngineJob>): void
  /** Assign CPU and memory to the jobs on changed servers. */
  settle(): void
}

/** Maximum number of servers that are examined to make room for a job. */
const MAX_CLEARED = 32

/**
 * Base of the mechanisms in which a job can run as soon as it gets GPUs, since the fair share of CPU and memory is
 * always available. The mechanisms differ in what they give beyond the fair share.
 */
export abstract class WholeGpuMechanism implements Mechanism {
  protected readonly running: RunningJobs
  protected readonly rules: ShareRules
  readonly #mixes: boolean
  readonly #consolidates: boolean

  constructor(running: RunningJobs, rules: ShareRules) {
    const { mechanism, spreadPenalty, profiles } = running.options
    this.running = running
    this.rules = rules
    this.#mixes = mechanism === 'tune'
    const isSlower = spreadPenalty > 1 || profiles.some((profile) => profile.spreadPenalty > 1)
    this.#consolidates = this.#mixes && isSlower
  }

  abstract settle(): void

  plan(order: readonly EngineJob[], refused: ReadonlySet<EngineJob>): void {
    const { pool, usage, watts } = this.running
    let free = pool.freeInTotal + usage.gpus
    let leftW = watts?.forJobsW ?? 0
    const chosen = new Set<EngineJob>()
    const failed = new Set<number>()
    const starting: EngineJob[] = []
    for (const job of order) {
      if (free === 0) break
      if (refused.has(job)) failed.add(job.kind.number)
      if (job.gpus > free || (job.state === 'waiting' && failed.has(job.kind.number))) continue
      if (watts !== null) {
        const minW = watts.minOf(job)
        if (minW > leftW) continue
        leftW -= minW
      }
      free -= job.gpus
      chosen.add(job)
      if (job.state === 'waiting') starting.push(job)
    }
    const leaving = [...this.running.jobs].filter((job) => !chosen.has(job))
    for (const job of leaving.sort(inOrder)) this.running.preempt(job)
    this.#place(starting, refused)
  }

  fill(queue: WaitingQueue, refused: ReadonlySet<EngineJob>): void {
    let free = this.running.pool.freeInTotal
    const failed = new Set<number>()
    const starting: EngineJob[] = []
    while (free > 0) {
      const job = queue.first(free, failed)
      if (job === null) break
      if (refused.has(job)) {
        failed.add(job.kind.number)
        continue
      }
      queue.remove(job)
      free -= job.gpus
      starting.push(job)
    }
    this.#place(starting, refused)
  }

  /**
   * Seats jobs whose GPUs are known to be free, largest first: on one server if possible, else on few. Under `tune`, jobs
   * of equal size come in the order of their demand for CPU or memory.
   *
   * A job takes the server with the fewest sufficient free GPUs, which keeps whole servers free for large jobs. If
   * spreading slows jobs, `tune` moves single-server jobs to avoid spreading another job, if that gains more than their
   * restarts cost.
   *
   * @param fixed jobs that must not be moved
   */
  #place(jobs: EngineJob[], fixed: ReadonlySet<EngineJob>): void {
    const { pool, watts, totals } = this.running
    const appetite = ({ profile: { demand } }: EngineJob) =>
      Math.max(demand.cpus / totals.cpus, demand.memoryGb / totals.memoryGb)
    jobs.sort((a, b) => b.gpus - a.gpus || (this.#mixes ? appetite(b) - appetite(a) : 0))
    for (const job of jobs) {
      let server = pool.bestFit(job.gpus, (each) => watts === null || watts.mayUse(job, each))
      if (server < 0) server = this.#clear(job, fixed)
      const placement = server >= 0 ? [{ server, gpus: job.gpus }] : this.#spread(job)
      if (placement === null) throw new Error(`job ${job.id} was promised GPUs that are not free`)
      this.running.start(job, placement)
    }
  }

  /**
   * Frees enough GPUs for a job on one server, by moving the server's smaller jobs, each to its best fit elsewhere.
   *
   * @returns the server; -1 if no server can be cleared, or only at a cost above the gain
   */
  #clear(job: EngineJob, fixed: ReadonlySet<EngineJob>): number {
    if (!this.#consolidates || this.running.watts?.frugal.has(job)) return -1
    const { pool, options } = this.running
    let tries = 0
    for (let free = job.gpus - 1; free >= 0; free--) {
      for (const server of pool.withFree(free)) {
        if (pool.kinds[server]!.gpus < job.gpus) continue
        if (++tries > MAX_CLEARED) return -1
        const moves = this.#movesFrom(server, job.gpus - free, fixed)
        if (moves === null) continue
        const movedGpus = moves.reduce((sum, [moved]) => sum + moved.gpus, 0)
        if (!this.#gains(job, movedGpus * options.restartCostS)) continue
        for (const [moved, to] of moves) {
          this.running.preempt(moved)
          this.running.start(moved, [{ server: to, gpus: moved.gpus }])
        }
        return server
      }
    }
    return -1
  }

  /** Returns moves of a server's jobs that free this number of GPUs; null if impossible. */
  #movesFrom(server: number, gpus: number, fixed: ReadonlySet<EngineJob>): (readonly [EngineJob, number])[] | null {
    const { pool } = this.running
    let missing = gpus
    const movable = pool.residents[server]!.filter((job) => job.server === server && !fixed.has(job))
    movable.sort((a, b) => a.gpus - b.gpus || a.index - b.index)
    const moves: (readonly [EngineJob, number])[] = []
    const promised = new Map<number, number>()
    for (const job of movable) {
      if (missing <= 0) break
      const hasRoom = (other: number) => pool.freeGpus[other]! - (promised.get(other) ?? 0) >= job.gpus
      const to = pool.bestFit(job.gpus, (other) => other !== server && hasRoom(other))
      if (to < 0) continue
      promised.set(to, (promised.get(to) ?? 0) + job.gpus)
      moves.push([job, to])
      missing -= job.gpus
    }
    return missing > 0 ? null : moves
  }

  /** Whether a job gains more GPU time by not being spread than the moves cost others. */
  #gains(job: EngineJob, costGpuS: number): boolean {
    const savedPart = 1 - 1 / this.running.spreadPenaltyOf(job.profile)
    return savedPart * job.remaining * job.kind.fairIterationS * job.gpus > costGpuS
  }

  #spread(job: EngineJob): Seat[] | null {
    const { pool, watts } = this.running
    const room = (server: number) => (watts!.mayUse(job, server) ? pool.freeGpus[server]! : 0)
    return (watts?.frugal.has(job) ? pool.spread(job.gpus, room) : null) ?? pool.spread(job.gpus, null)
  }
}

/** Each job gets exactly the GPU-proportional share of CPU and memory. */
export class FairMechanism extends WholeGpuMechanism {
  settle(): void {
    for (const server of this.running.takeChanged()) {
      for (const job of this.running.pool.residents[server]!) {
        // A running job already has its share, which depends only on its seats.
        if (job.rate > 0) continue
        const share = this.rules.fairShare(job.placement!)
        this.running.feed(job, { ...share, throughput: this.rules.options(job, share).fairThroughput })
      }
    }
  }
}
