import type { EngineJob } from './engine-job.js'

/**
 * Waiting jobs by class (model and number of GPUs). If one job of a class does not fit, none does, so only the first of
 * each class is tried. Ranks order the jobs of different classes.
 */
export class WaitingQueue {
  readonly #queues: { readonly gpus: number; readonly jobs: EngineJob[]; head: number }[] = []
  #nextRank = 0
  #length = 0

  get length(): number {
    return this.#length
  }

  clear(): void {
    for (const queue of this.#queues) {
      queue.jobs.length = 0
      queue.head = 0
    }
    this.#length = 0
    this.#nextRank = 0
  }

  /** Append at the end. */
  push(job: EngineJob): void {
    job.rank = this.#nextRank++
    this.#queues[job.kind.number] ??= { gpus: job.gpus, jobs: [], head: 0 }
    this.#queues[job.kind.number]!.jobs.push(job)
    this.#length++
  }

  /** First job that needs at most `freeGpus` and whose class is not in `failed`. */
  first(freeGpus: number, failed: ReadonlySet<number> | null): EngineJob | null {
    let best: EngineJob | null = null
    for (let c = 0; c < this.#queues.length; c++) {
      const queue = this.#queues[c]
      if (queue === undefined || queue.gpus > freeGpus || failed?.has(c)) continue
      const job = queue.jobs[queue.head]
      if (job !== undefined && (best === null || job.rank < best.rank)) best = job
    }
    return best
  }

  shift(job: EngineJob): void {
    this.#queues[job.kind.number]!.head++
    this.#length--
  }

  /** Remove a job from any position; does nothing if it is absent. */
  remove(job: EngineJob): void {
    const queue = this.#queues[job.kind.number]
    const at = queue?.jobs.indexOf(job, queue.head) ?? -1
    if (at < 0) return
    queue!.jobs.splice(at, 1)
    this.#length--
  }

  toArray(): EngineJob[] {
    return this.#queues.flatMap((queue) => queue?.jobs.slice(queue.head) ?? []).sort((a, b) => a.rank - b.rank)
  }
}
