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
 * Properties of a model in the published simulator. A `JobProfile` of `@pctodl/resource-sensitivity` has all of them.
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

/** A quantity of each resource: GPU, CPU, memory, storage, network. All vectors in this module have this order. */
export type Vector = readonly [gpu: number, cpu: number, memory: number, storage: number, net: number]

/** Network bandwidth of a server, Gbit/s, if the cluster file states none, as in the Python code. No job uses it. */
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
  /** Servers of the job in this round; empty while it waits. */
  servers: number[]
  /** Number of the job's GPUs on each of these servers. */
  gpusOn: number[]
  /** Resources that the job has on all its servers together. */
  held: Vector
  executedBefore: number
}

/** Fair share of each resource per GPU. The Python code supports one kind of server. */
export function fairVector(server: ServerKind): Vector {
  const { gpus, cpus, memoryGb, storageMBps } = server
  return [1, cpus / gpus, memoryGb / gpus, storageMBps / gpus, NET_PER_SERVER / gpus]
}

/** @throws PctodlError `HETEROGENEOUS_CLUSTER` */
export function onlyServerKind(cluster: Cluster): ServerKind {
  const [first, ...others] = cluster.servers
  if (first !== undefined && others.length === 0) return first
  throw new PctodlError(
    'HETEROGENEOUS_CLUSTER',
    `the published simulator knows one kind of server, the cluster has ${cluster.servers.length}`,
  )
}

/**
 * Storage demand of every job, MB/s per GPU. The Python code's loader misspells the field, so this default always
 * applies.
 */
const STORAGE_DEMAND_MBPS = 62.5

/**
 * Converts the jobs of a trace.
 *
 * @throws UnknownNameError for a model without a profile (the Python code substitutes alexnet)
 * @throws PctodlError `IMPOSSIBLE_JOB` for more GPUs than the cluster has
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

/** Caps a demand at the capacity of one server, and reduces the speedup in proportion to the CPU cores. */
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
  // If a job's CPU demand equals its fair share, the Python code divides by zero. Here the speedup stays unchanged.
  if (cut && idealCpu !== fairCpu) speedup = 1 + ((speedup - 1) / (idealCpu - fairCpu)) * (demand[1] - fairCpu)
  return { demand, speedup }
}

export interface KeyContext {
  readonly policy: Policy
  readonly nowS: number
  /** FAIR never applies a speedup. */
  readonly fair: boolean
  /** Capacity of the whole cluster: GPU, CPU, memory. */
  readonly totals: readonly [number, number, number]
  /** Order of the FTF policy. The Python code serves the least delayed job first; `false` reverses the order. */
  readonly ftfAscending: boolean
}

const STARVED_AFTER_S = 1000 * 3600

/** Sorts in place and stably by the Python code's keys (ascending), then by arrival. */
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
    // The speedup is the one of the previous round; TUNE may have set it to 1.
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
