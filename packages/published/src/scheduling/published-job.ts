import { PctodlError, UnknownNameError } from '@pctodl/platform'

/** A job of a trace, as read by `parseReplayCsv` of `@pctodl/resource-sensitivity`. */
export interface Job {
  readonly id: number
  readonly model: string
  readonly arrivalS: number
  readonly iterations: number
  readonly gpus: number
}

/**
 * What the published simulator knows about a model. A `JobProfile` of `@pctodl/resource-sensitivity` has all these
 * fields.
 */
export interface Model {
  readonly model: string
  readonly iterationS: number
  readonly demand: { readonly cpus: number; readonly memoryGb: number }
  readonly speedupAtDemand: number
  readonly spreadPenalty: number
}

export interface ServerKind {
  readonly count: number
  readonly gpus: number
  readonly cpus: number
  readonly memoryGb: number
  readonly storageMBps: number
}

export interface Cluster {
  readonly servers: readonly ServerKind[]
}

export type Policy = 'fifo' | 'srtf' | 'las' | 'ftf' | 'drf' | 'tetris'
export type Mechanism = 'fair' | 'greedy' | 'tune'

/**
 * Amounts of the five resources: GPUs, CPU cores, memory (GB), storage (MB/s), network (Gbit/s). All vectors of this
 * module have this order.
 */
export type Vector = readonly [gpu: number, cpu: number, memory: number, storage: number, net: number]

/** Network bandwidth of a server, Gbit/s: the Python code's default. It never limits a job. */
const NET_PER_SERVER = 40

export interface PublishedJob {
  readonly job: Job
  readonly demand: Vector
  readonly iterationS: number
  readonly spreadPenalty: number
  readonly originalSpeedup: number
  speedup: number
  executed: number
  attainedS: number
  lastRunS: number
  /** Indices of the servers that the job runs on in this round; empty while it waits. */
  servers: number[]
  /** Number of the job's GPUs on each entry of `servers`. */
  gpusOn: number[]
  /** Resources that the job has, summed over its servers. */
  held: Vector
  executedBefore: number
}

/** Resources per GPU if a server's resources are divided equally among its GPUs. */
export function fairVector(server: ServerKind): Vector {
  const { gpus, cpus, memoryGb, storageMBps } = server
  return [1, cpus / gpus, memoryGb / gpus, storageMBps / gpus, NET_PER_SERVER / gpus]
}

/**
 * Returns the only kind of server, as the Python code supports no other clusters.
 * @throws PctodlError `HETEROGENEOUS_CLUSTER` for more than one kind
 */
export function onlyServerKind(cluster: Cluster): ServerKind {
  const [first, ...others] = cluster.servers
  if (first !== undefined && others.length === 0) return first
  throw new PctodlError(
    'HETEROGENEOUS_CLUSTER',
    `the published simulator knows one kind of server, the cluster has ${cluster.servers.length}`,
  )
}

/**
 * Storage demand of every job, MB/s per GPU. The Python code's loader misspells the field of the trace, so this default
 * always applies.
 */
const STORAGE_DEMAND_MBPS = 62.5

/**
 * Converts the jobs of a trace to the published simulator's jobs.
 *
 * @throws UnknownNameError for a model without a profile (the Python code substitutes alexnet)
 * @throws PctodlError `IMPOSSIBLE_JOB` for a job with more GPUs than the cluster has
 */
export function publishedJobs(jobs: readonly Job[], profiles: readonly Model[], cluster: Cluster): PublishedJob[] {
  const kind = onlyServerKind(cluster)
  const byName = new Map(profiles.map((profile) => [profile.model, profile]))
  return jobs.map((job) => {
    const profile = byName.get(job.model)
    if (profile === undefined) throw new UnknownNameError('model', job.model, [...byName.keys()])
    if (job.gpus > kind.gpus * kind.count) {
      throw new PctodlError(
        'IMPOSSIBLE_JOB',
        `job ${job.id} can never run: it needs ${job.gpus} GPUs and the cluster has ${kind.gpus * kind.count}`,
      )
    }
    const { demand, speedup } = cappedDemand(job, profile, kind)
    return {
      job,
      demand,
      iterationS: profile.iterationS,
      spreadPenalty: profile.spreadPenalty,
      originalSpeedup: speedup,
      speedup,
      executed: 0,
      attainedS: 0,
      lastRunS: job.arrivalS,
      servers: [],
      gpusOn: [],
      held: demand,
      executedBefore: 0,
    }
  })
}

/**
 * Limits a job's demand to the capacity of one server. If this reduces the job's CPU cores, its speedup shrinks in
 * proportion to the cores above the fair share. A job with more GPUs than a server has gets its fair share and no
 * speedup.
 */
function cappedDemand(job: Job, profile: Model, kind: ServerKind): { demand: Vector; speedup: number } {
  const { gpus } = job
  const fair = fairVector(kind)
  const demand: [number, number, number, number, number] = [
    gpus,
    gpus * profile.demand.cpus,
    gpus * profile.demand.memoryGb,
    gpus * STORAGE_DEMAND_MBPS,
    gpus * fair[4],
  ]
  const capacity = [kind.gpus, kind.cpus, kind.memoryGb, kind.storageMBps] as const
  const idealCpu = demand[1]
  let speedup = profile.speedupAtDemand
  let cut = false
  for (const r of [1, 2, 3] as const) {
    if (demand[r] <= capacity[r]) continue
    if (gpus > kind.gpus) {
      demand[r] = gpus * fair[r]
      speedup = 1
      cut = false
    } else {
      demand[r] = capacity[r]
      cut = true
    }
  }
  const fairCpu = gpus * fair[1]
  // If a job's CPU demand equals its fair share, the Python code divides by zero here. This code leaves the speedup
  // unchanged.
  if (cut && idealCpu !== fairCpu) speedup = 1 + ((speedup - 1) / (idealCpu - fairCpu)) * (demand[1] - fairCpu)
  return { demand, speedup }
}

export interface KeyContext {
  readonly policy: Policy
  readonly nowS: number
  /** Whether the mechanism is FAIR, which never applies a speedup. */
  readonly fair: boolean
  /** Capacity of the whole cluster: GPUs, CPU cores, memory (GB). */
  readonly totals: readonly [number, number, number]
  /**
   * Order of the FTF policy. True serves the least delayed job first, as the Python code does; false serves it last.
   */
  readonly ftfAscending: boolean
}

const STARVED_AFTER_S = 1000 * 3600

/**
 * Sorts the jobs in place. Jobs that have not run for 1000 hours come first (except under FIFO), then the Python code's
 * key decides, ascending, then the arrival time.
 */
export function sortByPublishedPolicy(jobs: PublishedJob[], context: KeyContext): void {
  const keys = new Map<PublishedJob, number>()
  for (const job of jobs) keys.set(job, keyOf(job, context))
  const { policy, nowS } = context
  const starved = (job: PublishedJob) => (policy !== 'fifo' && nowS - job.lastRunS > STARVED_AFTER_S ? 0 : 1)
  jobs.sort((a, b) => starved(a) - starved(b) || keys.get(a)! - keys.get(b)! || a.job.arrivalS - b.job.arrivalS)
}

function keyOf(job: PublishedJob, { policy, nowS, fair, totals, ftfAscending }: KeyContext): number {
  const remainingS = () => {
    const seconds = job.iterationS * (job.job.iterations - job.executed)
    // Speedup of the job in the previous round, which TUNE may have reduced to 1.
    return fair ? seconds : seconds / job.speedup
  }
  const [gpu, cpu, memory] = job.demand
  switch (policy) {
    case 'fifo':
      return 0
    case 'srtf':
      return remainingS()
    case 'las':
      return job.attainedS * job.job.gpus
    case 'ftf': {
      const rho = (nowS - job.job.arrivalS + remainingS()) / (job.iterationS * job.job.iterations)
      return ftfAscending ? rho : -rho
    }
    case 'drf':
      return Math.max(gpu / totals[0], cpu / totals[1], memory / totals[2])
    case 'tetris':
      return remainingS() * (gpu / totals[0] + cpu / totals[1] + memory / totals[2])
  }
}
