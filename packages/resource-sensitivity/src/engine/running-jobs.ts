import { IndexedHeap } from '@pctodl/numerics'
import { type ClusterTotals, type ServerKind, totals } from '../cluster.js'
import type { AllocationOption } from '../mechanisms/allocation.js'
import { type JobProfile, throughputAt } from '../profile/job-profile.js'
import type { Job } from '../trace.js'
import { EngineJob, type JobClass, nothing, type Seat } from './engine-job.js'
import type { CheckedEngineOptions } from './scheduling-options.js'
import { ServerPool } from './server-pool.js'

/** Power as a resource of the whole cluster (see `PowerShares`). */
interface Watts {
  readonly forJobsW: number
  readonly frugal: ReadonlySet<EngineJob>
  minOf(job: EngineJob): number
  mayUse(job: EngineJob, server: number): boolean
}

/** Amounts that running jobs hold of the cluster, and their integrals over time. */
class Usage {
  gpus = 0
  cpus = 0
  memoryGb = 0
  spreadGpus = 0
  waiting = 0
  readonly sums = { gpus: 0, cpus: 0, memoryGb: 0, waiting: 0, spreadGpus: 0, idleWhileWaiting: 0 }

  advance(durationS: number, allGpus: number): void {
    const { sums } = this
    for (const of of ['gpus', 'cpus', 'memoryGb', 'waiting', 'spreadGpus'] as const) sums[of] += this[of] * durationS
    if (this.waiting > 0) sums.idleWhileWaiting += (allGpus - this.gpus) * durationS
  }
}

/** Amounts that the jobs on a server hold of it. */
const noLoad = () => ({ heldCpus: 0, heldMemoryGb: 0 })

type RememberedJob = Pick<EngineJob, 'placement' | 'share' | 'restarts' | 'savedRemaining' | 'countedS'>

/** All submitted jobs, with the placements, held resources and expected finish times of the running ones. */
export class RunningJobs {
  readonly profiles: ReadonlyMap<string, JobProfile>
  readonly totals: ClusterTotals
  readonly pool: ServerPool
  readonly loads: { heldCpus: number; heldMemoryGb: number }[]
  readonly usage: Usage = new Usage()
  nowS: number
  /** Power as a further resource that jobs need to start; null if the cluster names no GPU types. */
  watts: Watts | null = null
  /** Running jobs. */
  readonly jobs: Set<EngineJob> = new Set()
  readonly #finishing = new IndexedHeap()
  /** Servers whose jobs changed since `takeChanged`. */
  readonly #changed = new Set<number>()
  /** Jobs whose placement or share changed since `takeTouched`. */
  #touched = new Set<EngineJob>()
  readonly #submitted: EngineJob[] = []
  readonly #byId = new Map<number, EngineJob>()
  readonly #classes = new Map<string, JobClass>()

  constructor(
    readonly options: CheckedEngineOptions,
    startS: number,
  ) {
    this.profiles = new Map(options.profiles.map((profile) => [profile.model, profile]))
    this.totals = totals(options.cluster)
    this.pool = new ServerPool(options.cluster)
    this.loads = this.pool.kinds.map(noLoad)
    this.nowS = startS
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
    const total = this.totals
    const profile = this.profiles.get(model)!
    // A job with more GPUs than the largest server is spread even if it is alone on the cluster.
    const isSpread = this.options.cluster.servers.every((kind) => gpus > kind.gpus)
    const penalty = isSpread ? this.spreadPenaltyOf(profile) : 1
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
    this.usage.advance(toS - this.nowS, this.totals.gpus)
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
  spreadPenaltyOf({ spreadPenalty }: JobProfile): number {
    return Math.max(spreadPenalty, this.options.spreadPenalty)
  }

  hold(job: EngineJob, forS: number): void {
    job.count(this.nowS)
    job.countedS = Math.max(job.countedS, this.nowS) + forS
    this.#expect(job)
  }

  /** Takes CPU and memory from a placed job until `feed` is called. Until then, it makes no progress and may be moved. */
  starve(job: EngineJob): void {
    job.count(this.nowS)
    this.#hold(job, nothing)
    job.rate = 0
    this.#finishing.remove(job.index)
  }

  /** Takes back a seat that the current plan gave to a job. The job waits, as if it had never had the seat. */
  unseat(job: EngineJob): void {
    const { lastRunS } = job
    this.preempt(job)
    job.lastRunS = lastRunS
    if (job.runs > 0) job.restarts--
    else job.firstStartS = null
  }

  touchServers(): void {
    for (const server of this.loads.keys()) this.#changed.add(server)
  }

  /** Seats a job on free GPUs. It makes no progress before `feed` gives it CPU and memory. */
  start(job: EngineJob, placement: readonly Seat[]): void {
    const { nowS } = this
    this.#touched.add(job)
    this.jobs.add(job)
    job.placement = placement
    for (const { server, gpus } of placement) this.#seatOn(job, server, gpus)
    this.usage.gpus += job.gpus
    if (placement.length > 1) this.usage.spreadGpus += job.gpus
    this.usage.waiting--
    job.savedRemaining = job.remaining
    job.state = 'running'
    job.count(nowS)
    if (job.firstStartS === null) {
      job.firstStartS = nowS
      job.countedS = nowS + this.options.startCostS
    } else {
      job.restarts++
      job.countedS = nowS + this.options.restartCostS
    }
  }

  preempt(job: EngineJob): void {
    this.#leave(job)
    job.state = 'waiting'
    job.lastRunS = this.nowS
    this.usage.waiting++
  }

  finish(job: EngineJob): void {
    if (job.state === 'running') this.#leave(job)
    else {
      job.count(this.nowS)
      this.usage.waiting--
    }
    job.state = 'finished'
    job.finishS = this.nowS
  }

  /** Assigns a running job CPU and memory per GPU. */
  feed(job: EngineJob, share: AllocationOption): void {
    const { cpus, memoryGb, throughput } = job.share
    const isSame = cpus === share.cpus && memoryGb === share.memoryGb && throughput === share.throughput
    if (isSame && job.rate > 0) return
    this.#touched.add(job)
    job.count(this.nowS)
    this.#hold(job, share)
    const penalty = job.server >= 0 ? 1 : this.spreadPenaltyOf(job.profile)
    job.rate = share.throughput / (job.profile.iterationS * penalty)
    job.iterationS = 1 / job.rate
    this.#expect(job)
  }

  /** Moves several newly started jobs at once, each from one server to another. */
  reseat(moves: readonly (readonly [job: EngineJob, to: number])[]): void {
    for (const [job] of moves) this.#unseatFrom(job, job.server)
    for (const [job, to] of moves) {
      job.placement = [{ server: to, gpus: job.gpus }]
      this.#seatOn(job, to, job.gpus)
    }
  }

  /**
   * Remembers which jobs run on which seats.
   *
   * @returns a function that takes back all seats given since, and gives back those taken away
   */
  remember(): () => void {
    const before = new Map([...this.jobs].map((job) => [job, { ...job }]))
    return () => {
      // The last one first, so that servers are found in the same order again.
      const now = [...this.jobs].reverse()
      for (const job of now) if (job.placement !== before.get(job)?.placement) this.unseat(job)
      for (const [job, was] of before) if (job.state !== 'running') this.resume(job, was)
    }
  }

  /** Gives a job that was stopped at this moment its old seats and share. It counts as never stopped. */
  resume(job: EngineJob, was: RememberedJob): void {
    this.start(job, was.placement!)
    this.feed(job, was.share)
    job.restarts = was.restarts
    job.savedRemaining = was.savedRemaining
    job.countedS = Math.max(was.countedS, this.nowS)
    this.#expect(job)
  }

  /** Returns the jobs in the order in which they were first changed. */
  takeTouched(): Set<EngineJob> {
    const touched = this.#touched
    this.#touched = new Set()
    return touched
  }

  /** Sets the reported progress of a job, which replaces the estimated progress. */
  setDone(job: EngineJob, doneIterations: number): void {
    job.remaining = Math.max(0, job.job.iterations - doneIterations)
    if (job.state !== 'running') return
    job.countedS = Math.max(job.countedS, this.nowS)
    this.#expect(job)
  }

  /** Empties a server, or gives it back its capacity. Returns its preempted jobs, the last submitted first. */
  resizeServer(server: number, kind: ServerKind): EngineJob[] {
    const evicted = [...this.pool.residents[server]!].sort((a, b) => b.index - a.index)
    for (const job of evicted) this.preempt(job)
    this.pool.resize(server, kind)
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
    this.pool.add(job, server, gpus)
    this.#changed.add(server)
  }

  #unseatFrom(job: EngineJob, server: number): void {
    this.pool.remove(job, server)
    this.#changed.add(server)
  }

  #leave(job: EngineJob): void {
    this.#touched.add(job)
    this.starve(job)
    for (const { server } of job.placement!) {
      this.#unseatFrom(job, server)
      // Forgets accumulated rounding errors once a server is empty.
      if (this.pool.residents[server]!.length === 0) this.loads[server] = noLoad()
    }
    this.usage.gpus -= job.gpus
    if (job.server < 0) this.usage.spreadGpus -= job.gpus
    this.jobs.delete(job)
    job.placement = null
  }

  #hold(job: EngineJob, share: AllocationOption): void {
    const moreCpus = share.cpus - job.share.cpus
    const moreMemoryGb = share.memoryGb - job.share.memoryGb
    job.share = share
    this.usage.cpus += moreCpus * job.gpus
    this.usage.memoryGb += moreMemoryGb * job.gpus
    for (const { server, gpus } of job.placement!) {
      this.loads[server]!.heldCpus += moreCpus * gpus
      this.loads[server]!.heldMemoryGb += moreMemoryGb * gpus
    }
  }
}
