import type { Cluster } from '../cluster/cluster.js'
import { throughputAt } from '../matrix/job-profile.js'
import type { Job } from '../trace/job.js'
import type { Placement } from './server-pool.js'
import type { CheckedOptions } from './simulation-options.js'

export const WAITING = 0
export const RUNNING = 1
export const FINISHED = 2

/** Everything that changes of every job, by index in the order of arrival. */
export class JobTable {
  readonly jobs: readonly Job[]
  readonly profileOf: Int32Array
  readonly gpus: Int32Array
  /** Seconds per iteration where the throughput is 1. */
  readonly iterationS: Float64Array
  /** Seconds per iteration of the job alone on the cluster, with the GPU-proportional share of all its CPU and memory. */
  readonly fairIterationS: Float64Array
  readonly arrivalS: Float64Array
  readonly state: Uint8Array
  readonly remaining: Float64Array
  /** Iterations per second now. */
  readonly rate: Float64Array
  /** Progress is counted up to here; later than now while a job restarts. */
  readonly countedS: Float64Array
  readonly attainedGpuS: Float64Array
  /** When the attained service was last counted. */
  readonly heldSinceS: Float64Array
  readonly lastRunS: Float64Array
  readonly firstStartS: Float64Array
  readonly finishS: Float64Array
  readonly waitedS: Float64Array
  readonly restarts: Int32Array
  readonly cpusPerGpu: Float64Array
  readonly memoryGbPerGpu: Float64Array
  readonly throughput: Float64Array
  /** The only server of a job, -1 where it has none or several. */
  readonly server: Int32Array
  /** Jobs on several servers. */
  readonly spread: Map<number, Placement> = new Map()
  /** Model and number of GPUs, numbered. */
  readonly classOf: Int32Array
  readonly gpusOfClass: number[] = []
  /** Dominant share and sum of shares of a job's demand, of the whole cluster. */
  readonly dominantShare: Float64Array
  readonly summedShare: Float64Array

  constructor({ jobs, profiles, cluster, spreadPenalty }: CheckedOptions) {
    this.jobs = [...jobs].sort((a, b) => a.arrivalS - b.arrivalS || a.id - b.id)
    const n = jobs.length
    const floats = () => new Float64Array(n)
    this.profileOf = new Int32Array(n)
    this.gpus = new Int32Array(n)
    this.iterationS = floats()
    this.fairIterationS = floats()
    this.arrivalS = floats()
    this.state = new Uint8Array(n)
    this.remaining = floats()
    this.rate = floats()
    this.countedS = floats()
    this.attainedGpuS = floats()
    this.heldSinceS = floats()
    this.lastRunS = floats()
    this.firstStartS = floats().fill(-1)
    this.finishS = floats()
    this.waitedS = floats()
    this.restarts = new Int32Array(n)
    this.cpusPerGpu = floats()
    this.memoryGbPerGpu = floats()
    this.throughput = floats()
    this.server = new Int32Array(n).fill(-1)
    this.classOf = new Int32Array(n)
    this.dominantShare = floats()
    this.summedShare = floats()
    const indexOf = new Map(profiles.map(({ model }, i) => [model, i]))
    const classes = new Map<string, number>()
    const total = totals(cluster)
    const largest = Math.max(...cluster.servers.map(({ gpus }) => gpus))
    const fairThroughput = profiles.map((profile) =>
      throughputAt(profile, total.cpus / total.gpus, total.memoryGb / total.gpus),
    )
    this.jobs.forEach((job, j) => {
      const p = indexOf.get(job.model)!
      const { iterationS, demand } = profiles[p]!
      this.profileOf[j] = p
      this.gpus[j] = job.gpus
      this.iterationS[j] = iterationS
      // Too large for any server it would be spread even alone.
      const penalty = job.gpus > largest ? Math.max(profiles[p]!.spreadPenalty, spreadPenalty) : 1
      this.fairIterationS[j] = (iterationS * penalty) / fairThroughput[p]!
      this.arrivalS[j] = job.arrivalS
      this.lastRunS[j] = job.arrivalS
      this.remaining[j] = job.iterations
      const key = `${p}/${job.gpus}`
      if (!classes.has(key)) {
        classes.set(key, this.gpusOfClass.length)
        this.gpusOfClass.push(job.gpus)
      }
      this.classOf[j] = classes.get(key)!
      const gpu = job.gpus / total.gpus
      const cpu = (job.gpus * demand.cpus) / total.cpus
      const memory = (job.gpus * demand.memoryGb) / total.memoryGb
      this.dominantShare[j] = Math.max(gpu, cpu, memory)
      this.summedShare[j] = gpu + cpu + memory
    })
  }

  get length(): number {
    return this.jobs.length
  }

  /** Count the progress of a running job up to now. */
  count(job: number, nowS: number): void {
    const sinceS = nowS - this.countedS[job]!
    if (sinceS > 0) {
      this.remaining[job] = Math.max(0, this.remaining[job]! - this.rate[job]! * sinceS)
      this.countedS[job] = nowS
    }
    this.attainedGpuS[job]! += this.gpus[job]! * (nowS - this.heldSinceS[job]!)
    this.heldSinceS[job] = nowS
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
