import type { EngineJob } from './engine-job.js'

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
  first(freeGpus: number, failed: ReadonlySet<number> | null): EngineJob | null {
    let best: EngineJob | null = null
    for (let c = 0; c < this.#queues.length; c++) {
      const job = this.#queues[c]![0]
      if (job === undefined || job.gpus > freeGpus || failed?.has(c)) continue
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
