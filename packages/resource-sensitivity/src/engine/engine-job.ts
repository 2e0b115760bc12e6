import type { Cluster } from '../cluster/cluster.js'
import { type JobProfile, throughputAt } from '../profile/job-profile.js'
import type { Job } from '../trace/job.js'
import type { CheckedEngineOptions } from './scheduling-options.js'

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
}

/** Engine state of a job. */
export class EngineJob {
  /** In the order of submission. */
  readonly index: number
  readonly gpus: number
  state: 'waiting' | 'running' | 'finished' = 'waiting'
  /**
   * `key`: sort key of the last round; `rank`: position in the waiting queue; `chosenAt`: the last plan that chose the
   * job.
   */
  key: number = Number.NaN
  rank = 0
  chosenAt = 0
  /** Number of starts requested from the executor. */
  runs = 0
  readonly job: Job
  readonly kind: JobClass
  /**
   * Seconds per iteration of the job alone on the cluster, with the GPU-proportional share of all its CPU and memory.
   */
  readonly fairIterationS: number
  /**
   * Demand of the job relative to the whole cluster: the largest of its shares of GPUs, CPU and memory, and their sum.
   */
  readonly dominantShare: number
  readonly summedShare: number
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
  /** Attained service before the last long wait, which no longer counts, GPU-seconds; see `ServiceOrder`. */
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

  constructor(
    index: number,
    job: Job,
    kind: JobClass,
    nowS: number,
    of: Pick<EngineJob, 'fairIterationS' | 'dominantShare' | 'summedShare'>,
  ) {
    this.index = index
    this.gpus = job.gpus
    this.job = job
    this.kind = kind
    this.fairIterationS = of.fairIterationS
    this.dominantShare = of.dominantShare
    this.summedShare = of.summedShare
    this.remaining = job.iterations
    this.iterationS = of.fairIterationS
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

  /** Update its progress. */
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

/** All submitted jobs. */
export class JobTable {
  readonly jobs: EngineJob[] = []
  readonly #byId = new Map<number, EngineJob>()
  readonly #options: CheckedEngineOptions
  readonly #profiles: ReadonlyMap<string, JobProfile>
  readonly #kinds = new Map<string, JobClass>()
  readonly #totals: ReturnType<typeof totals>
  readonly #largest: number

  constructor(options: CheckedEngineOptions) {
    this.#options = options
    this.#profiles = new Map(options.profiles.map((profile) => [profile.model, profile]))
    this.#totals = totals(options.cluster)
    this.#largest = Math.max(...options.cluster.servers.map(({ gpus }) => gpus))
  }

  add(job: Job, nowS: number): EngineJob {
    const { gpus, cpus, memoryGb } = this.#totals
    const profile = this.#profiles.get(job.model)!
    // A job with more GPUs than the largest server is spread even if it is alone on the cluster.
    const penalty = job.gpus > this.#largest ? Math.max(profile.spreadPenalty, this.#options.spreadPenalty) : 1
    const shares = [
      job.gpus / gpus,
      (job.gpus * profile.demand.cpus) / cpus,
      (job.gpus * profile.demand.memoryGb) / memoryGb,
    ] as const
    const added = new EngineJob(this.jobs.length, job, this.#kindOf(profile, job.gpus), nowS, {
      fairIterationS: (profile.iterationS * penalty) / throughputAt(profile, cpus / gpus, memoryGb / gpus),
      dominantShare: Math.max(...shares),
      summedShare: shares[0] + shares[1] + shares[2],
    })
    this.jobs.push(added)
    this.#byId.set(job.id, added)
    return added
  }

  /** Undefined if no such job was submitted. */
  find(jobId: number): EngineJob | undefined {
    return this.#byId.get(jobId)
  }

  /** For a submitted job. */
  of(jobId: number): EngineJob {
    return this.#byId.get(jobId)!
  }

  #kindOf(profile: JobProfile, gpus: number): JobClass {
    const key = `${gpus}/${profile.model}`
    const known = this.#kinds.get(key) ?? { number: this.#kinds.size, gpus, profile }
    this.#kinds.set(key, known)
    return known
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
