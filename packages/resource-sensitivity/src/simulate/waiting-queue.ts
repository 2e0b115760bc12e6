/**
 * Jobs that wait, by class (model and number of GPUs): jobs of a class fit or fail alike, so only the first of each needs a
 * look. Ranks say who comes before whom across classes.
 */
export class WaitingQueue {
  readonly #classOf: Int32Array
  readonly #gpusOfClass: readonly number[]
  readonly #queues: number[][]
  readonly #heads: number[]
  readonly #rank: Float64Array
  #nextRank = 0
  #length = 0

  constructor(classOf: Int32Array, gpusOfClass: readonly number[]) {
    this.#classOf = classOf
    this.#gpusOfClass = gpusOfClass
    this.#queues = gpusOfClass.map(() => [])
    this.#heads = gpusOfClass.map(() => 0)
    this.#rank = new Float64Array(classOf.length)
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
    this.#rank[job] = this.#nextRank++
    this.#queues[this.#classOf[job]!]!.push(job)
    this.#length++
  }

  /** The first that needs at most `freeGpus` and whose class is not in `failed`; -1 when there is none. */
  first(freeGpus: number, failed: Uint8Array): number {
    let best = -1
    for (let c = 0; c < this.#queues.length; c++) {
      if (failed[c] !== 0 || this.#gpusOfClass[c]! > freeGpus) continue
      const job = this.#queues[c]![this.#heads[c]!]
      if (job !== undefined && (best < 0 || this.#rank[job]! < this.#rank[best]!)) best = job
    }
    return best
  }

  /** Take out a job that `first` named. */
  shift(job: number): void {
    const c = this.#classOf[job]!
    this.#heads[c]!++
    this.#length--
  }

  toArray(): number[] {
    return this.#queues
      .flatMap((queue, c) => queue.slice(this.#heads[c]))
      .sort((a, b) => this.#rank[a]! - this.#rank[b]!)
  }
}
