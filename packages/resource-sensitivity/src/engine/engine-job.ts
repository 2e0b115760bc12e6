import type { AllocationOption } from '../mechanisms/allocation.js'
import type { JobProfile } from '../profile/job-profile.js'
import type { Job } from '../trace.js'

/** GPUs of a job on one server. */
export interface Seat {
  readonly server: number
  readonly gpus: number
}

/** Jobs of one model with the same number of GPUs. If one of them does not fit on the free resources, none does. */
export interface JobClass {
  readonly number: number
  readonly gpus: number
  readonly profile: JobProfile
  /** Seconds per iteration if the job is alone on the cluster and gets CPU and memory in proportion to its GPUs. */
  readonly fairIterationS: number
  /**
   * Demand relative to the whole cluster: the largest of the job's shares of GPUs, CPU and memory, and the sum of the
   * three.
   */
  readonly dominantShare: number
  readonly summedShare: number
}

export const nothing: AllocationOption = { cpus: 0, memoryGb: 0, throughput: 0 }

/** Engine state of a job. */
export class EngineJob {
  readonly id: number
  readonly gpus: number
  readonly profile: JobProfile
  state: 'waiting' | 'running' | 'finished' = 'waiting'
  /** Sort key of the last round. */
  key: number = Number.NaN
  /** Position in the waiting queue. */
  rank = 0
  /** Number of starts requested from the executor. */
  runs = 0
  remaining: number
  /**
   * Duration of an iteration, s: the current one, or that of the last run while the job waits. Before the first run,
   * `fairIterationS`.
   */
  iterationS: number
  /** Iterations left if everything after the last checkpoint is lost. */
  savedRemaining: number
  /** Iterations per second now. */
  rate = 0
  /** Time up to which progress is counted; in the future during a restart. */
  countedS = 0
  attainedGpuS = 0
  /** Attained service that is forgiven after a long wait, GPU-seconds; see `serviceOrder`. */
  forgivenGpuS = 0
  /** Time up to which attained service or waiting time is counted, s. */
  heldSinceS: number
  lastRunS: number
  firstStartS: number | null = null
  finishS = 0
  waitedS = 0
  restarts = 0
  /** CPU and memory of each GPU. */
  share: AllocationOption = nothing
  /** Null while it waits. */
  placement: readonly Seat[] | null = null

  constructor(
    /** In the order of submission. */
    readonly index: number,
    readonly job: Job,
    readonly kind: JobClass,
    nowS: number,
  ) {
    this.id = job.id
    this.gpus = job.gpus
    this.profile = kind.profile
    this.remaining = job.iterations
    this.iterationS = kind.fairIterationS
    this.savedRemaining = job.iterations
    this.heldSinceS = nowS
    this.lastRunS = job.arrivalS
  }

  /** The server of a job that runs on a single server; -1 if it waits or runs on several. */
  get server(): number {
    return this.placement?.length === 1 ? this.placement[0]!.server : -1
  }

  /** Its placement, most GPUs first. */
  get seats(): Seat[] {
    return [...this.placement!].sort((a, b) => b.gpus - a.gpus || a.server - b.server)
  }

  /**
   * Updates the progress, and the attained service or the waiting time. The time until `nowS` counts as waiting if the
   * rate is 0, which is also the case for a job that was just placed.
   */
  count(nowS: number): void {
    const sinceS = nowS - this.countedS
    if (sinceS > 0) {
      this.remaining = Math.max(0, this.remaining - this.rate * sinceS)
      this.countedS = nowS
    }
    const heldS = nowS - this.heldSinceS
    if (this.rate > 0) this.attainedGpuS += this.gpus * heldS
    else this.waitedS += heldS
    this.heldSinceS = nowS
  }
}
