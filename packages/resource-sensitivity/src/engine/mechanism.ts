import type { WaitingQueue } from './waiting-queue.js'

/** How a mechanism takes part in the simulation. */
export interface Mechanism {
  /** Decide anew who runs. `order` holds all unfinished jobs in the policy's order. */
  plan(order: readonly number[]): void
  /** Start waiting jobs on what has become free, preempting nobody. */
  fill(queue: WaitingQueue): void
  /** Give CPU and memory to the jobs on servers that changed. */
  settle(): void
}
