import type { EngineJob } from './engine-job.js'
import type { PolicyName } from './scheduling-options.js'

/** Ratio of waiting to running time at which a job's attained service is forgiven. Tiresias' STARVELIMIT. */
const PROMOTE_AFTER = 8

/**
 * Returns the unfinished jobs in the order in which a policy serves them.
 *
 * - FIFO: by arrival. SRTF: least remaining work. LAS: least GPU time attained.
 * - FTF: largest finish-time ratio rho = (age + remaining work) / work first (Themis, NSDI '20), with the work at the
 * GPU-proportional share. The published simulator serves the smallest first.
 * - DRF: smallest dominant share, integrated over time. Shares are reassigned every round, so fairness requires
 * counting the shares that a job has held. The published simulator sorts by the demand, which never changes.
 * - Tetris: smallest (remaining work x sum of demanded shares).
 *
 * LAS and DRF can starve a job that has already received more service than others will ever need. So a job that has
 * waited `PROMOTE_AFTER` times as long as it has run starts again at zero (Tiresias, NSDI '19). It then runs at least a
 * ninth of its time.
 *
 * Work is in seconds: for SRTF and Tetris at the latest speed of the job (`iterationS`), for FTF alone with the
 * GPU-proportional share (`fairIterationS`). Ties go to the earlier submission.
 */
export function serviceOrder(policy: PolicyName, jobs: readonly EngineJob[], nowS: number): EngineJob[] {
  const unfinished = jobs.filter(({ state }) => state !== 'finished')
  for (const job of unfinished) {
    if (job.state === 'running') job.count(nowS)
    job.key = keyOf(policy, job, nowS)
  }
  return unfinished.sort(inOrder)
}

function keyOf(policy: PolicyName, job: EngineJob, nowS: number): number {
  switch (policy) {
    case 'fifo':
      return job.index
    case 'srtf':
      return job.remaining * job.iterationS
    case 'las':
      return serviceGpuS(job, nowS)
    case 'ftf':
      return (
        -(nowS - job.job.arrivalS + job.remaining * job.kind.fairIterationS) /
        (job.job.iterations * job.kind.fairIterationS)
      )
    case 'drf':
      return (serviceGpuS(job, nowS) / job.gpus) * job.kind.dominantShare
    case 'tetris':
      return job.remaining * job.iterationS * job.kind.summedShare
  }
}

/** Compares two jobs whose keys were computed at the same time. */
export function inOrder(a: EngineJob, b: EngineJob): number {
  return a.key < b.key ? -1 : a.key > b.key ? 1 : a.index - b.index
}

/** Returns the attained service that counts, GPU-seconds. It restarts at zero after a long wait. */
function serviceGpuS(job: EngineJob, nowS: number): number {
  const service = job.attainedGpuS - job.forgivenGpuS
  if (job.state === 'running' || nowS - job.lastRunS < (PROMOTE_AFTER * service) / job.gpus) return service
  job.forgivenGpuS = job.attainedGpuS
  return 0
}

/**
 * Waiting jobs by class (model and number of GPUs). If one job of a class does not fit, none does, so only the first of
 * each class is tried. Ranks order the jobs of different classes.
 */
export class WaitingQueue {
  /** By class number; each in the order of rank. */
  readonly #queues: EngineJob[][] = []
  #nextRank = 0
  #length = 0

  get length(): number {
    return this.#length
  }

  clear(): void {
    for (const queue of this.#queues) queue.length = 0
    this.#length = 0
    this.#nextRank = 0
  }

  /** Append at the end. */
  push(job: EngineJob): void {
    job.rank = this.#nextRank++
    while (this.#queues.length <= job.kind.number) this.#queues.push([])
    this.#queues[job.kind.number]!.push(job)
    this.#length++
  }

  /** First job that needs at most `freeGpus` and whose class is not in `failed`. */
  first(freeGpus: number, failed: ReadonlySet<number>): EngineJob | null {
    let best: EngineJob | null = null
    for (let c = 0; c < this.#queues.length; c++) {
      const job = this.#queues[c]![0]
      if (job === undefined || job.gpus > freeGpus || failed.has(c)) continue
      if (best === null || job.rank < best.rank) best = job
    }
    return best
  }

  /** Remove a job from any position; does nothing if it is absent. */
  remove(job: EngineJob): void {
    const queue = this.#queues[job.kind.number]
    const at = queue?.indexOf(job) ?? -1
    if (at < 0) return
    queue!.splice(at, 1)
    this.#length--
  }

  toArray(): EngineJob[] {
    return this.#queues.flat().sort((a, b) => a.rank - b.rank)
  }
}
