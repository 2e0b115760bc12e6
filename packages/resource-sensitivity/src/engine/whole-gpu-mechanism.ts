import { RUNNING, WAITING } from './job-table.js'
import type { Mechanism } from './mechanism.js'
import type { Placer } from './placer.js'
import type { RunningJobs } from './running-jobs.js'
import type { WaitingQueue } from './waiting-queue.js'

/**
 * Base of the mechanisms under which free GPUs are all that a job needs to run: the fair share of CPU and memory of a GPU is
 * always there. They differ in what is given beyond.
 */
export abstract class WholeGpuMechanism implements Mechanism {
  protected readonly running: RunningJobs
  readonly #placer: Placer
  #plans = 0

  constructor(running: RunningJobs, placer: Placer) {
    this.running = running
    this.#placer = placer
  }

  abstract settle(): void

  plan(order: readonly number[]): void {
    const { table, pool, usage } = this.running
    this.#plans++
    let free = pool.freeInTotal + usage.heldGpus
    const { watts } = this.running
    let leftW = watts?.forJobsW ?? 0
    const starting: number[] = []
    for (const job of order) {
      if (free === 0) break
      if (table.gpus[job]! > free) continue
      if (watts !== null) {
        const leastW = watts.leastOf(job)
        if (leastW > leftW) continue
        leftW -= leastW
      }
      free -= table.gpus[job]!
      table.chosenAt[job] = this.#plans
      if (table.state[job] === WAITING) starting.push(job)
    }
    for (const job of order) {
      if (table.state[job] === RUNNING && table.chosenAt[job] !== this.#plans) this.running.preempt(job)
    }
    this.#placer.place(starting)
    this.#placer.gather()
  }

  fill(queue: WaitingQueue): void {
    const { pool, table } = this.running
    let free = pool.freeInTotal
    const starting: number[] = []
    while (free > 0) {
      const job = queue.first(free, null)
      if (job < 0) break
      queue.shift(job)
      free -= table.gpus[job]!
      starting.push(job)
    }
    if (starting.length > 0) this.#placer.place(starting)
    // While jobs wait, rounds do it.
    if (queue.length === 0) this.#placer.gather()
  }
}
