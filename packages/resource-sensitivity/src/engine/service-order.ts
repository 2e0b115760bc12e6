import type { EngineJob } from './engine-job.js'
import type { PolicyName } from './scheduling-options.js'

/** Waiting over running time at which a job's attained service is forgiven. Tiresias' STARVELIMIT. */
const PROMOTE_AFTER = 8

/**
 * Sorts jobs into the order in which a policy serves them.
 *
 * - FIFO: by arrival. SRTF: least work left. LAS: least GPU time attained.
 * - FTF: largest finish-time ratio rho = (age + work left) / work first (Themis, NSDI '20). The Python code has it the other way round.
 * - DRF: least dominant share attained, integrated over time. A share that is taken and given back every round is fair over
 *   time only if what was held counts; the Python code's key, the demand, never changes.
 * - Tetris: least (work left x sum of demanded shares).
 *
 * Service-based orders (LAS, DRF) leave a job behind as soon as it has had more than the others will ever need, and for ever
 * while those others keep coming. So one that has waited `PROMOTE_AFTER` times as long as it has run begins at zero again
 * (Tiresias, NSDI '19): whatever comes, it runs a ninth of its time.
 *
 * Work is in seconds alone with the GPU-proportional share (`fairIterationS`). Among equals the earlier submission goes first.
 */
export class ServiceOrder {
  readonly #policy: PolicyName
  readonly #starvationAfterS: number
  /** By jobs' indices: until when the key of one that waits stays as it is. */
  readonly #steadyUntilS: number[] = []

  constructor(policy: PolicyName, starvationAfterS: number) {
    this.#policy = policy
    this.#starvationAfterS = starvationAfterS
  }

  /**
   * The unfinished of some jobs in the order in which they are served.
   *
   * @param jobs as this returned them, and then those that have come since
   */
  sorted(jobs: readonly EngineJob[], nowS: number): EngineJob[] {
    // Of ten thousands of jobs most have waited since the last round, and are in order already.
    const steady: EngineJob[] = []
    const others: EngineJob[] = []
    for (const job of jobs) {
      if (job.state === 'finished') continue
      if (job.isSteady && nowS < this.#steadyUntilS[job.index]!) steady.push(job)
      else {
        if (job.state === 'running') job.count(nowS)
        this.#setKey(job, nowS)
        others.push(job)
      }
    }
    return merged(steady, others.sort(inOrder))
  }

  #setKey(job: EngineJob, nowS: number): void {
    const starvesAtS = job.lastRunS + this.#starvationAfterS
    const waits = job.state !== 'running'
    const starved = waits && this.#policy !== 'fifo' && nowS - job.lastRunS > this.#starvationAfterS
    job.key = starved ? Number.NEGATIVE_INFINITY : this.#keyOf(job, nowS)
    job.isSteady = waits && this.#policy !== 'ftf'
    const changesAtS = starved ? Number.POSITIVE_INFINITY : Math.min(starvesAtS, this.#forgivenAtS(job))
    // Rounding may put the moment itself on either side.
    this.#steadyUntilS[job.index] = changesAtS - 1
  }

  #forgivenAtS(job: EngineJob): number {
    if (this.#policy !== 'las' && this.#policy !== 'drf') return Number.POSITIVE_INFINITY
    const service = job.attainedGpuS - job.forgivenGpuS
    return service === 0 ? Number.POSITIVE_INFINITY : job.lastRunS + (PROMOTE_AFTER * service) / job.gpus
  }

  #keyOf(job: EngineJob, nowS: number): number {
    switch (this.#policy) {
      case 'fifo':
        return job.index
      case 'srtf':
        return workLeftS(job)
      case 'las':
        return serviceGpuS(job, nowS)
      case 'ftf':
        return -(nowS - job.job.arrivalS + workLeftS(job)) / (job.job.iterations * job.fairIterationS)
      case 'drf':
        return (serviceGpuS(job, nowS) / job.gpus) * job.dominantShare
      case 'tetris':
        return workLeftS(job) * job.summedShare
    }
  }
}

/** The order of two jobs with keys of one moment. */
export function inOrder(a: EngineJob, b: EngineJob): number {
  return a.key < b.key ? -1 : a.key > b.key ? 1 : a.index - b.index
}

/** Two lists in order as one. */
function merged(long: readonly EngineJob[], short: readonly EngineJob[]): EngineJob[] {
  const all: EngineJob[] = []
  let next = 0
  for (const job of short) {
    let [low, high] = [next, long.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (inOrder(long[middle]!, job) < 0) low = middle + 1
      else high = middle
    }
    while (next < low) all.push(long[next++]!)
    all.push(job)
  }
  while (next < long.length) all.push(long[next++]!)
  return all
}

/** What counts of the service that a job has had; one that has waited for long begins anew. */
function serviceGpuS(job: EngineJob, nowS: number): number {
  const service = job.attainedGpuS - job.forgivenGpuS
  if (job.state === 'running' || nowS - job.lastRunS < (PROMOTE_AFTER * service) / job.gpus) return service
  job.forgivenGpuS = job.attainedGpuS
  return 0
}

function workLeftS({ remaining, fairIterationS }: EngineJob): number {
  return remaining * fairIterationS
}
