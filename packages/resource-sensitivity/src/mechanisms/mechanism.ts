import type { EngineJob } from '../engine/engine-job.js'
import type { RunningJobs } from '../engine/running-jobs.js'
import { inOrder } from '../engine/service-order.js'
import type { WaitingQueue } from '../engine/waiting-queue.js'
import { Placer } from './placer.js'
import type { ShareRules } from './share-rules.js'

export interface Mechanism {
  /** Decide afresh which jobs run. `order` holds all unfinished jobs in the policy's order. */
  plan(order: readonly EngineJob[]): void
  /** Start waiting jobs on free resources without preemption. */
  fill(queue: WaitingQueue): void
  /** Assign CPU and memory to the jobs on changed servers. */
  settle(): void
}

/**
 * Base of the mechanisms in which a job can run as soon as it gets GPUs, since the fair share of CPU and memory is
 * always available. The mechanisms differ in what they give beyond the fair share.
 */
export abstract class WholeGpuMechanism implements Mechanism {
  protected readonly running: RunningJobs
  protected readonly rules: ShareRules
  readonly #placer: Placer

  constructor(running: RunningJobs, rules: ShareRules) {
    this.running = running
    this.rules = rules
    this.#placer = new Placer(running)
  }

  abstract settle(): void

  plan(order: readonly EngineJob[]): void {
    const { pool, usage, watts } = this.running
    let free = pool.freeInTotal + usage.heldGpus
    let leftW = watts?.forJobsW ?? 0
    const chosen = new Set<EngineJob>()
    const starting: EngineJob[] = []
    for (const job of order) {
      if (free === 0) break
      if (job.gpus > free) continue
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
    this.#placer.place(starting)
  }

  fill(queue: WaitingQueue): void {
    let free = this.running.pool.freeInTotal
    const starting: EngineJob[] = []
    while (free > 0) {
      const job = queue.first(free, null)
      if (job === null) break
      queue.remove(job)
      free -= job.gpus
      starting.push(job)
    }
    this.#placer.place(starting)
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
