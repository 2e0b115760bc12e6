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

  constructor(policy: PolicyName, starvationAfterS: number) {
    this.#policy = policy
    this.#starvationAfterS = starvationAfterS
  }

  /** By what `inOrder` sorts. Progress of a running job must be counted up to now. */
  setKey(job: EngineJob, nowS: number): void {
    const starved = job.state !== 'running' && nowS - job.lastRunS > this.#starvationAfterS
    job.key = starved && this.#policy !== 'fifo' ? Number.NEGATIVE_INFINITY : this.#keyOf(job, nowS)
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
