import type { JobTable } from './job-table.js'

/**
 * Jobs that wait, by class (model and number of GPUs): jobs of a class fit or fail alike, so only the first of each needs a
 * look. Ranks say who comes before whom across classes.
 */
export class WaitingQueue {
  readonly #table: JobTable
  readonly #queues: number[][] = []
  readonly #heads: number[] = []
  #nextRank = 0
  #length = 0

  constructor(table: JobTable) {
    this.#table = table
  }

  get length(): number {
    return this.#length
  }

  clear(): void {
    for (const queue of this.#queues) queue.length = 0
    this.#heads.fill(0)
    this.#length = 0
    this.#nextRank = 0
  }

  /** Behind all others. */
  push(job: number): void {
    const { rank, classOf } = this.#table
    rank[job] = this.#nextRank++
    const c = classOf[job]!
    while (this.#queues.length <= c) {
      this.#queues.push([])
      this.#heads.push(0)
    }
    this.#queues[c]!.push(job)
    this.#length++
  }

  /** The first that needs at most `freeGpus` and whose class is not in `failed`; -1 when there is none. */
  first(freeGpus: number, failed: ReadonlySet<number> | null): number {
    const { rank, gpusOfClass } = this.#table
    let best = -1
    for (let c = 0; c < this.#queues.length; c++) {
      if (gpusOfClass[c]! > freeGpus || failed?.has(c)) continue
      const job = this.#queues[c]![this.#heads[c]!]
      if (job !== undefined && (best < 0 || rank[job]! < rank[best]!)) best = job
    }
    return best
  }

  /** Take out a job that `first` named. */
  shift(job: number): void {
    const c = this.#table.classOf[job]!
    this.#heads[c]!++
    this.#length--
  }

  /** Take out a job wherever it stands; nothing happens where it is not in. */
  remove(job: number): void {
    const c = this.#table.classOf[job]!
    const at = this.#queues[c]?.indexOf(job, this.#heads[c]) ?? -1
    if (at < 0) return
    this.#queues[c]!.splice(at, 1)
    this.#length--
  }

  toArray(): number[] {
    const { rank } = this.#table
    return this.#queues.flatMap((queue, c) => queue.slice(this.#heads[c])).sort((a, b) => rank[a]! - rank[b]!)
  }
}
