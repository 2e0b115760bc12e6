import { type JobTable, RUNNING } from './job-table.js'
import type { PolicyName } from './policy.js'

/** Waiting over running time at which a job's attained service is forgiven. Tiresias' STARVELIMIT. */
const PROMOTE_AFTER = 8

/**
 * Sorts jobs into the order in which a policy serves them.
 *
 * - FIFO: by arrival. SRTF: least work left. LAS: least GPU time attained.
 * - FTF: largest finish-time ratio rho = (age + work left) / work first (Themis, NSDI '20). Upstream has it the other way round.
 * - DRF: least dominant share attained, integrated over time. A share that is taken and given back every round is fair over
 *   time only if what was held counts; upstream's key, the demand, never changes.
 * - Tetris: least (work left x sum of demanded shares).
 *
 * Service-based orders (LAS, DRF) leave a job behind as soon as it has had more than the others will ever need, and for ever
 * while those others keep coming. So one that has waited `PROMOTE_AFTER` times as long as it has run begins at zero again
 * (Tiresias, NSDI '19): whatever comes, it runs a ninth of its time.
 *
 * Work is in seconds alone with the GPU-proportional share (`fairIterationS`): a model's base throughput may be any. Among equals the earlier arrival goes first.
 */
export class ServiceOrder {
  readonly #table: JobTable
  readonly #policy: PolicyName
  readonly #starvationAfterS: number

  constructor(table: JobTable, policy: PolicyName, starvationAfterS: number) {
    this.#table = table
    this.#policy = policy
    this.#starvationAfterS = starvationAfterS
  }

  /** Progress of running jobs must be counted up to now. */
  sort(jobs: number[], nowS: number): void {
    const { key } = this.#table
    if (this.#policy === 'fifo') {
      // Jobs are numbered by arrival.
      for (const job of jobs) key[job] = job
    } else {
      const { state, lastRunS } = this.#table
      for (const job of jobs) {
        const starved = state[job] !== RUNNING && nowS - lastRunS[job]! > this.#starvationAfterS
        key[job] = starved ? Number.NEGATIVE_INFINITY : this.#keyOf(job, nowS)
      }
    }
    jobs.sort((a, b) => (key[a]! < key[b]! ? -1 : key[a]! > key[b]! ? 1 : a - b))
  }

  #keyOf(job: number, nowS: number): number {
    const table = this.#table
    const workLeftS = table.remaining[job]! * table.fairIterationS[job]!
    switch (this.#policy) {
      case 'fifo':
        return job
      case 'srtf':
        return workLeftS
      case 'las':
        return this.#serviceGpuS(job, nowS)
      case 'ftf':
        return -(nowS - table.arrivalS[job]! + workLeftS) / (table.jobs[job]!.iterations * table.fairIterationS[job]!)
      case 'drf':
        return (this.#serviceGpuS(job, nowS) / table.gpus[job]!) * table.dominantShare[job]!
      case 'tetris':
        return workLeftS * table.summedShare[job]!
    }
  }

  #serviceGpuS(job: number, nowS: number): number {
    const { state, attainedGpuS, forgivenGpuS, gpus, lastRunS } = this.#table
    const serviceGpuS = attainedGpuS[job]! - forgivenGpuS[job]!
    if (state[job] === RUNNING || nowS - lastRunS[job]! < (PROMOTE_AFTER * serviceGpuS) / gpus[job]!) return serviceGpuS
    forgivenGpuS[job] = attainedGpuS[job]!
    return 0
  }
}
