import type { EngineJob } from './engine-job.js'
import type { PolicyName } from './scheduling-options.js'

/** Ratio of waiting to running time at which a job's attained service is forgiven. Tiresias' STARVELIMIT. */
const PROMOTE_AFTER = 8

/**
 * Sorts jobs into the order in which a policy serves them.
 *
 * - FIFO: by arrival. SRTF: least remaining work. LAS: least GPU time attained.
 * - FTF: largest finish-time ratio rho = (age + remaining work) / work first (Themis, NSDI '20). The Python code does
 * the reverse.
 * - DRF: smallest dominant share attained, integrated over time. When shares are reassigned every round, fairness over
 * time requires counting the shares held; the Python code's key, the demand, never changes.
 * - Tetris: smallest (remaining work x sum of demanded shares).
 *
 * Service-based orders (LAS, DRF) starve a job that has already received more than others will ever need, for as long
 * as such jobs keep arriving. So a job that has waited `PROMOTE_AFTER` times as long as it has run starts again at zero
 * (Tiresias, NSDI '19): it runs at least a ninth of its time, whatever arrives.
 *
 * Work is in seconds alone with the GPU-proportional share (`fairIterationS`). Ties go to the earlier submission.
 */
export class ServiceOrder {
  readonly #policy: PolicyName
  readonly #starvationAfterS: number
  /** By job index: time until which the key of a waiting job stays valid. */
  readonly #steadyUntilS: number[] = []

  constructor(policy: PolicyName, starvationAfterS: number) {
    this.#policy = policy
    this.#starvationAfterS = starvationAfterS
  }

  /**
   * The unfinished jobs in service order.
   *
   * @param jobs the result of the last call, followed by newly arrived jobs
   */
  sorted(jobs: readonly EngineJob[], nowS: number): EngineJob[] {
    // Of tens of thousands of jobs, most have waited since the last round and are still in order.
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
    // Rounding may put the exact moment on either side.
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

/** Compares two jobs whose keys were computed at the same time. */
export function inOrder(a: EngineJob, b: EngineJob): number {
  return a.key < b.key ? -1 : a.key > b.key ? 1 : a.index - b.index
}

/** Merges two sorted lists. */
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

/** Attained service that counts; it restarts at zero after a long wait. */
function serviceGpuS(job: EngineJob, nowS: number): number {
  const service = job.attainedGpuS - job.forgivenGpuS
  if (job.state === 'running' || nowS - job.lastRunS < (PROMOTE_AFTER * service) / job.gpus) return service
  job.forgivenGpuS = job.attainedGpuS
  return 0
}

function workLeftS({ remaining, fairIterationS }: EngineJob): number {
  return remaining * fairIterationS
}
