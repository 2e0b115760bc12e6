import { IndexedHeap } from '@pctodl/numerics'
import type { ServerKind } from '../cluster/cluster.js'
import type { AllocationOption } from '../mechanisms/allocation-options.js'
import { type JobProfile, throughputAt } from '../profile/job-profile.js'
import type { Job } from '../trace/job.js'
import { EngineJob, type JobClass, type Placement, totals } from './engine-job.js'
import type { CheckedEngineOptions } from './scheduling-options.js'
import { ServerPool } from './server-pool.js'
import { UsageRecord } from './usage-record.js'

/** All submitted jobs, with the placements, held resources and expected finish times of the running ones. */
export class RunningJobs {
  readonly options: CheckedEngineOptions
  readonly profiles: ReadonlyMap<string, JobProfile>
  readonly pool: ServerPool
  readonly usage: UsageRecord
  nowS: number
  /** Power as a further resource that jobs need to start; null if the cluster has no power budget. */
  watts: { readonly forJobsW: number; minOf(job: EngineJob): number } | null = null
  /** Running jobs. */
  readonly jobs: Set<EngineJob> = new Set()
  /** Resources held per server. */
  readonly heldCpus: Float64Array
  readonly heldMemoryGb: Float64Array
  /** Total demand of the jobs on each server. */
  readonly wantedCpus: Float64Array
  readonly wantedMemoryGb: Float64Array
  readonly #finishing = new IndexedHeap()
  /** Servers whose jobs changed since `takeChanged`. */
  readonly #changed = new Set<number>()
  /** Jobs whose placement or share changed since `takeTouched`. */
  #touched = new Set<EngineJob>()
  readonly #submitted: EngineJob[] = []
  readonly #byId = new Map<number, EngineJob>()
  readonly #classes = new Map<string, JobClass>()

  constructor(options: CheckedEngineOptions, startS: number) {
    this.options = options
    this.profiles = new Map(options.profiles.map((profile) => [profile.model, profile]))
    this.pool = new ServerPool(options.cluster)
    this.usage = new UsageRecord(totals(options.cluster), startS)
    this.nowS = startS
    const perServer = () => new Float64Array(this.pool.kinds.length)
    this.heldCpus = perServer()
    this.heldMemoryGb = perServer()
    this.wantedCpus = perServer()
    this.wantedMemoryGb = perServer()
  }

  /** Undefined if no such job was submitted. */
  find(jobId: number): EngineJob | undefined {
    return this.#byId.get(jobId)
  }

  submit(job: Job): EngineJob {
    const added = new EngineJob(this.#submitted.length, job, this.#classOf(job), this.nowS)
    this.#submitted.push(added)
    this.#byId.set(job.id, added)
    this.usage.waiting++
    return added
  }

  #classOf({ gpus, model }: Job): JobClass {
    const key = `${gpus}/${model}`
    const known = this.#classes.get(key)
    if (known !== undefined) return known
    const { cluster, spreadPenalty } = this.options
    const profile = this.profiles.get(model)!
    const total = totals(cluster)
    // A job with more GPUs than the largest server is spread even if it is alone on the cluster.
    const isSpread = cluster.servers.every((kind) => gpus > kind.gpus)
    const penalty = isSpread ? Math.max(profile.spreadPenalty, spreadPenalty) : 1
    const { cpus, memoryGb } = profile.demand
    const shares = [gpus / total.gpus, (gpus * cpus) / total.cpus, (gpus * memoryGb) / total.memoryGb] as const
    const fairThroughput = throughputAt(profile, total.cpus / total.gpus, total.memoryGb / total.gpus)
    const added: JobClass = {
      ...{ number: this.#classes.size, gpus, profile },
      fairIterationS: (profile.iterationS * penalty) / fairThroughput,
      dominantShare: Math.max(...shares),
      summedShare: shares[0] + shares[1] + shares[2],
    }
    this.#classes.set(key, added)
    return added
  }

  advance(toS: number): void {
    this.usage.advance(toS)
    this.nowS = toS
  }

  /** Expected finish time of the next running job; Infinity if none makes progress. */
  get nextFinishS(): number {
    return this.#finishing.firstKey
  }

  /** Running jobs expected to finish by then, in order of finish time. */
  expectedToFinishBy(untilS: number): EngineJob[] {
    const due: [index: number, atS: number][] = []
    while (this.#finishing.size > 0 && this.#finishing.firstKey <= untilS) {
      due.push([this.#finishing.first, this.#finishing.firstKey])
      this.#finishing.remove(this.#finishing.first)
    }
    for (const [index, atS] of due) this.#finishing.set(index, atS)
    return due.map(([index]) => this.#submitted[index]!)
  }

  /** Slowdown factor of a job on several servers. */
  spreadPenaltyOf(job: EngineJob): number {
    return Math.max(job.profile.spreadPenalty, this.options.spreadPenalty)
  }

  hold(job: EngineJob, forS: number): void {
    job.count(this.nowS)
    job.countedS = Math.max(job.countedS, this.nowS) + forS
    this.#expect(job)
  }

  /** Stops the progress of a seated job until `feed`. It may change its seat before. */
  starve(job: EngineJob): void {
    job.count(this.nowS)
    job.rate = 0
    this.#finishing.remove(job.index)
  }

  /** Start a seated job now. */
  begin(job: EngineJob, isFirst: boolean): void {
    this.starve(job)
    job.countedS = this.nowS + (isFirst ? this.options.startCostS : this.options.restartCostS)
  }

  /** Takes back a seat that the current plan gave to a job. The job waits, as if it had never had the seat. */
  unseat(job: EngineJob, wasStarted: boolean, lastRunS: number): void {
    this.preempt(job)
    job.lastRunS = lastRunS
    if (wasStarted) job.restarts--
    else job.firstStartS = null
  }

  touchServers(): void {
    for (let server = 0; server < this.pool.kinds.length; server++) this.#changed.add(server)
  }

  /** Seats a job on free GPUs. It makes no progress before `feed` gives it CPU and memory. */
  start(job: EngineJob, placement: Placement): void {
    const { nowS } = this
    const { servers, gpus } = placement
    this.#touched.add(job)
    this.jobs.add(job)
    job.placement = placement
    for (let i = 0; i < servers.length; i++) this.#seatOn(job, servers[i]!, gpus[i]!)
    this.usage.heldGpus += job.gpus
    if (servers.length > 1) this.usage.spreadGpus += job.gpus
    job.savedRemaining = job.remaining
    job.state = 'running'
    job.waitedS += nowS - job.heldSinceS
    job.heldSinceS = nowS
    if (job.firstStartS === null) {
      job.firstStartS = nowS
      job.countedS = nowS + this.options.startCostS
    } else {
      job.restarts++
      job.countedS = nowS + this.options.restartCostS
    }
    this.usage.waiting--
  }

  preempt(job: EngineJob): void {
    this.#leave(job)
    job.state = 'waiting'
    job.lastRunS = this.nowS
    this.usage.waiting++
  }

  finish(job: EngineJob): void {
    this.#leave(job)
    job.state = 'finished'
    job.remaining = 0
    job.finishS = this.nowS
  }

  /** Assigns a running job CPU and memory per GPU. */
  feed(job: EngineJob, { cpus, memoryGb, throughput }: AllocationOption): void {
    const isSame = job.cpusPerGpu === cpus && job.memoryGbPerGpu === memoryGb && job.throughput === throughput
    if (isSame && job.rate > 0) return
    this.#touched.add(job)
    job.count(this.nowS)
    this.#hold(job, cpus - job.cpusPerGpu, memoryGb - job.memoryGbPerGpu)
    job.cpusPerGpu = cpus
    job.memoryGbPerGpu = memoryGb
    job.throughput = throughput
    const penalty = job.server >= 0 ? 1 : this.spreadPenaltyOf(job)
    job.rate = throughput / (job.profile.iterationS * penalty)
    job.iterationS = 1 / job.rate
    this.#expect(job)
  }

  /** Moves several newly started jobs at once, each from one server to another. */
  reseat(moves: readonly (readonly [job: EngineJob, to: number])[]): void {
    for (const [job] of moves) this.#unseatFrom(job, job.server)
    for (const [job, to] of moves) {
      job.placement = { servers: [to], gpus: [job.gpus] }
      this.#seatOn(job, to, job.gpus)
    }
  }

  /** Removes the restart time of a job that was stopped and restarted on the same seats at the same moment. */
  undoRestart(job: EngineJob, restarts: number, countedS: number): void {
    job.restarts = restarts
    job.countedS = Math.max(countedS, this.nowS)
    this.#expect(job)
  }

  /** Returns the jobs in the order in which they were first changed. */
  takeTouched(): Set<EngineJob> {
    const touched = this.#touched
    this.#touched = new Set()
    return touched
  }

  /** Sets the progress of a job and discards the estimate. */
  setDone(job: EngineJob, doneIterations: number): void {
    job.remaining = Math.max(0, job.job.iterations - doneIterations)
    if (job.state !== 'running') return
    job.countedS = Math.max(job.countedS, this.nowS)
    if (job.rate > 0) this.#expect(job)
  }

  /** Changes the capacity of a server. Preempts jobs that no longer fit, the last submitted first, and returns them. */
  resizeServer(server: number, kind: ServerKind): EngineJob[] {
    const { pool } = this
    const evicted: EngineJob[] = []
    let held = pool.kinds[server]!.gpus - pool.freeGpus[server]!
    for (const job of [...pool.residents[server]!].sort((a, b) => b.index - a.index)) {
      if (held <= kind.gpus) break
      held -= pool.gpusOn(job, server)
      this.preempt(job)
      evicted.push(job)
    }
    pool.resize(server, kind)
    this.#changed.add(server)
    return evicted
  }

  takeChanged(): number[] {
    const changed = [...this.#changed]
    this.#changed.clear()
    return changed
  }

  get anyChanged(): boolean {
    return this.#changed.size > 0
  }

  #expect(job: EngineJob): void {
    this.#finishing.set(job.index, Math.max(this.nowS, job.countedS) + job.remaining / job.rate)
  }

  #seatOn(job: EngineJob, server: number, gpus: number): void {
    const { demand } = job.profile
    this.pool.add(job, server, gpus)
    this.wantedCpus[server]! += gpus * demand.cpus
    this.wantedMemoryGb[server]! += gpus * demand.memoryGb
    this.#changed.add(server)
  }

  #unseatFrom(job: EngineJob, server: number): void {
    const { demand } = job.profile
    const gpus = this.pool.remove(job, server)
    this.wantedCpus[server]! -= gpus * demand.cpus
    this.wantedMemoryGb[server]! -= gpus * demand.memoryGb
    this.#changed.add(server)
  }

  #leave(job: EngineJob): void {
    this.#touched.add(job)
    this.#finishing.remove(job.index)
    job.count(this.nowS)
    this.#hold(job, -job.cpusPerGpu, -job.memoryGbPerGpu)
    job.cpusPerGpu = 0
    job.memoryGbPerGpu = 0
    job.rate = 0
    for (const server of job.placement!.servers) {
      this.#unseatFrom(job, server)
      // Reset accumulated rounding errors once a server is empty.
      if (this.pool.residents[server]!.length > 0) continue
      for (const sums of [this.wantedCpus, this.wantedMemoryGb, this.heldCpus, this.heldMemoryGb]) sums[server] = 0
    }
    this.usage.heldGpus -= job.gpus
    if (job.server < 0) this.usage.spreadGpus -= job.gpus
    this.jobs.delete(job)
    job.placement = null
  }

  #hold(job: EngineJob, moreCpusPerGpu: number, moreMemoryGbPerGpu: number): void {
    const { servers, gpus } = job.placement!
    this.usage.heldCpus += moreCpusPerGpu * job.gpus
    this.usage.heldMemoryGb += moreMemoryGbPerGpu * job.gpus
    for (let i = 0; i < servers.length; i++) {
      this.heldCpus[servers[i]!]! += moreCpusPerGpu * gpus[i]!
      this.heldMemoryGb[servers[i]!]! += moreMemoryGbPerGpu * gpus[i]!
    }
  }
}
