import type { Cluster } from '../cluster/cluster.js'
import { throughputAt } from '../profile/job-profile.js'
import type { Job } from '../trace/job.js'
import type { CheckedEngineOptions } from './scheduling-options.js'
import type { Placement } from './server-pool.js'

export const WAITING = 0
export const RUNNING = 1
export const FINISHED = 2

const floatColumns = [
  'iterationS',
  'fairIterationS',
  'arrivalS',
  'remaining',
  'savedRemaining',
  'rate',
  'countedS',
  'attainedGpuS',
  'forgivenGpuS',
  'heldSinceS',
  'lastRunS',
  'firstStartS',
  'finishS',
  'waitedS',
  'cpusPerGpu',
  'memoryGbPerGpu',
  'throughput',
  'dominantShare',
  'summedShare',
  'key',
  'rank',
] as const
const integerColumns = ['profileOf', 'gpus', 'restarts', 'server', 'classOf', 'chosenAt'] as const

/** Everything that changes of every job, by index in the order of submission. */
export class JobTable {
  readonly jobs: Job[] = []
  readonly #indexOf = new Map<number, number>()
  profileOf: Int32Array<ArrayBuffer> = new Int32Array(0)
  gpus: Int32Array<ArrayBuffer> = new Int32Array(0)
  /** Seconds per iteration where the throughput is 1. */
  iterationS: Float64Array<ArrayBuffer> = new Float64Array(0)
  /** Seconds per iteration of the job alone on the cluster, with the GPU-proportional share of all its CPU and memory. */
  fairIterationS: Float64Array<ArrayBuffer> = new Float64Array(0)
  arrivalS: Float64Array<ArrayBuffer> = new Float64Array(0)
  state: Uint8Array<ArrayBuffer> = new Uint8Array(0)
  remaining: Float64Array<ArrayBuffer> = new Float64Array(0)
  /** What is left of it for whoever loses all but the last checkpoint. */
  savedRemaining: Float64Array<ArrayBuffer> = new Float64Array(0)
  /** Iterations per second now. */
  rate: Float64Array<ArrayBuffer> = new Float64Array(0)
  /** Progress is counted up to here; later than now while a job restarts. */
  countedS: Float64Array<ArrayBuffer> = new Float64Array(0)
  attainedGpuS: Float64Array<ArrayBuffer> = new Float64Array(0)
  /** Attained service that no longer counts, see `ServiceOrder`. */
  forgivenGpuS: Float64Array<ArrayBuffer> = new Float64Array(0)
  /** When the attained service was last counted. */
  heldSinceS: Float64Array<ArrayBuffer> = new Float64Array(0)
  lastRunS: Float64Array<ArrayBuffer> = new Float64Array(0)
  /** -1 before. */
  firstStartS: Float64Array<ArrayBuffer> = new Float64Array(0)
  finishS: Float64Array<ArrayBuffer> = new Float64Array(0)
  waitedS: Float64Array<ArrayBuffer> = new Float64Array(0)
  restarts: Int32Array<ArrayBuffer> = new Int32Array(0)
  cpusPerGpu: Float64Array<ArrayBuffer> = new Float64Array(0)
  memoryGbPerGpu: Float64Array<ArrayBuffer> = new Float64Array(0)
  throughput: Float64Array<ArrayBuffer> = new Float64Array(0)
  /** The only server of a job, -1 where it has none or several. */
  server: Int32Array<ArrayBuffer> = new Int32Array(0)
  /** Jobs on several servers. */
  readonly spread: Map<number, Placement> = new Map()
  /** Model and number of GPUs, numbered. */
  classOf: Int32Array<ArrayBuffer> = new Int32Array(0)
  readonly gpusOfClass: number[] = []
  readonly profileOfClass: number[] = []
  /** Dominant share and sum of shares of a job's demand, of the whole cluster. */
  dominantShare: Float64Array<ArrayBuffer> = new Float64Array(0)
  summedShare: Float64Array<ArrayBuffer> = new Float64Array(0)
  /** Sort key of the last round; place in the waiting queue; the last plan that chose the job. */
  key: Float64Array<ArrayBuffer> = new Float64Array(0)
  rank: Float64Array<ArrayBuffer> = new Float64Array(0)
  chosenAt: Int32Array<ArrayBuffer> = new Int32Array(0)
  readonly #options: CheckedEngineOptions
  readonly #profiles: ReadonlyMap<string, number>
  readonly #classes = new Map<string, number>()
  readonly #totals: ReturnType<typeof totals>
  readonly #largest: number
  readonly #fairThroughput: readonly number[]

  /** @param capacity jobs to make room for; there is more where more come */
  constructor(options: CheckedEngineOptions, capacity = 0) {
    const { profiles, cluster } = options
    this.#options = options
    this.#profiles = new Map(profiles.map(({ model }, i) => [model, i]))
    this.#totals = totals(cluster)
    this.#largest = Math.max(...cluster.servers.map(({ gpus }) => gpus))
    const { gpus, cpus, memoryGb } = this.#totals
    this.#fairThroughput = profiles.map((profile) => throughputAt(profile, cpus / gpus, memoryGb / gpus))
    this.#grow(capacity)
  }

  /** @returns the job's index */
  add(job: Job): number {
    const j = this.jobs.length
    if (j === this.state.length) this.#grow(Math.max(64, 2 * j))
    const p = this.#profiles.get(job.model)!
    const { iterationS, demand, spreadPenalty } = this.#options.profiles[p]!
    this.jobs.push(job)
    this.#indexOf.set(job.id, j)
    this.profileOf[j] = p
    this.gpus[j] = job.gpus
    this.iterationS[j] = iterationS
    // Too large for any server it would be spread even alone.
    const penalty = job.gpus > this.#largest ? Math.max(spreadPenalty, this.#options.spreadPenalty) : 1
    this.fairIterationS[j] = (iterationS * penalty) / this.#fairThroughput[p]!
    this.arrivalS[j] = job.arrivalS
    this.lastRunS[j] = job.arrivalS
    this.remaining[j] = job.iterations
    this.savedRemaining[j] = job.iterations
    this.firstStartS[j] = -1
    this.server[j] = -1
    const key = `${p}/${job.gpus}`
    if (!this.#classes.has(key)) {
      this.#classes.set(key, this.gpusOfClass.length)
      this.gpusOfClass.push(job.gpus)
      this.profileOfClass.push(p)
    }
    this.classOf[j] = this.#classes.get(key)!
    const gpu = job.gpus / this.#totals.gpus
    const cpu = (job.gpus * demand.cpus) / this.#totals.cpus
    const memory = (job.gpus * demand.memoryGb) / this.#totals.memoryGb
    this.dominantShare[j] = Math.max(gpu, cpu, memory)
    this.summedShare[j] = gpu + cpu + memory
    return j
  }

  /** Undefined where no such job was submitted. */
  indexOf(jobId: number): number | undefined {
    return this.#indexOf.get(jobId)
  }

  get length(): number {
    return this.jobs.length
  }

  #grow(capacity: number): void {
    for (const column of floatColumns) {
      const old = this[column]
      this[column] = new Float64Array(capacity)
      this[column].set(old)
    }
    for (const column of integerColumns) {
      const old = this[column]
      this[column] = new Int32Array(capacity)
      this[column].set(old)
    }
    const { state } = this
    this.state = new Uint8Array(capacity)
    this.state.set(state)
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
