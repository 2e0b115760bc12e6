import type { Cluster } from '../cluster/cluster.js'
import type { JobProfile } from '../profile/job-profile.js'
import type { Job } from '../trace/job.js'

/** The GPUs of a job: `gpus[i]` of them are on `servers[i]`. */
export interface Placement {
  readonly servers: readonly number[]
  readonly gpus: readonly number[]
}

/** Jobs of one model with the same number of GPUs. If one of them does not fit on the free resources, none does. */
export interface JobClass {
  readonly number: number
  readonly gpus: number
  readonly profile: JobProfile
  /** Seconds per iteration alone on the cluster, with the GPU-proportional share of all its CPU and memory. */
  readonly fairIterationS: number
  /** Demand relative to the whole cluster: the largest of the shares of GPUs, CPU and memory, and their sum. */
  readonly dominantShare: number
  readonly summedShare: number
}

/** Engine state of a job. */
export class EngineJob {
  /** In the order of submission. */
  readonly index: number
  readonly gpus: number
  state: 'waiting' | 'running' | 'finished' = 'waiting'
  /** Sort key of the last round. */
  key: number = Number.NaN
  /** Position in the waiting queue. */
  rank = 0
  /** Number of starts requested from the executor. */
  runs = 0
  readonly job: Job
  readonly kind: JobClass
  remaining: number
  /** Seconds per iteration; for a waiting job, those of its last run. `fairIterationS` until the job first runs. */
  iterationS: number
  /** Iterations left if everything after the last checkpoint is lost. */
  savedRemaining: number
  /** Iterations per second now. */
  rate = 0
  /** Time up to which progress is counted; in the future during a restart. */
  countedS = 0
  attainedGpuS = 0
  /** Attained service before the last long wait, which no longer counts, GPU-seconds; see `serviceOrder`. */
  forgivenGpuS = 0
  /** Time up to which attained service or waiting time is counted, s. */
  heldSinceS: number
  lastRunS: number
  firstStartS: number | null = null
  finishS = 0
  waitedS = 0
  restarts = 0
  cpusPerGpu = 0
  memoryGbPerGpu = 0
  throughput = 0
  /** Null while it waits. */
  placement: Placement | null = null

  constructor(index: number, job: Job, kind: JobClass, nowS: number) {
    this.index = index
    this.gpus = job.gpus
    this.job = job
    this.kind = kind
    this.remaining = job.iterations
    this.iterationS = kind.fairIterationS
    this.savedRemaining = job.iterations
    this.heldSinceS = nowS
    this.lastRunS = job.arrivalS
  }

  get id(): number {
    return this.job.id
  }

  get profile(): JobProfile {
    return this.kind.profile
  }

  /** The server of a job that runs on a single server; -1 if it waits or runs on several. */
  get server(): number {
    return this.placement?.servers.length === 1 ? this.placement.servers[0]! : -1
  }

  /** Updates progress and attained service. */
  count(nowS: number): void {
    const sinceS = nowS - this.countedS
    if (sinceS > 0) {
      this.remaining = Math.max(0, this.remaining - this.rate * sinceS)
      this.countedS = nowS
    }
    this.attainedGpuS += this.gpus * (nowS - this.heldSinceS)
    this.heldSinceS = nowS
  }
}

export function totals({ servers }: Cluster): { gpus: number; cpus: number; memoryGb: number } {
  const total = { gpus: 0, cpus: 0, memoryGb: 0 }
  for (const { count, gpus, cpus, memoryGb } of servers) {
    total.gpus += count * gpus
    total.cpus += count * cpus
    total.memoryGb += count * memoryGb
  }
  return total
}
