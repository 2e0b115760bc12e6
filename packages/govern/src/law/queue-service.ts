import { sum } from '@pctodl/numerics'
import { BatchQueue, batchSizesUpTo } from '@pctodl/perf-model/serving'
import type { BatchLimits, TritonSample } from '../metrics/triton.js'
import { BatchTimes } from './batch-times.js'
import type { Work } from './board-power.js'
import { GovernedService, type Interval, type ServiceGoal } from './governed-service.js'

/** Time constant of the measured number of items of a request, s. */
const ITEMS_S = 30
/** To estimate late requests, waits are assumed uniform between 0 and this multiple of their mean. */
const WAIT_SPREAD = 2.2
/** Waiting requests beyond one batch per instance must be answered within this share of the objective. */
const DRAIN = 0.5

/** A service whose server counts batches by size: a queue from which batches of measured times are taken. */
export class QueueService extends GovernedService<TritonSample> {
  readonly times: BatchTimes
  readonly #limits: BatchLimits
  readonly #queue: BatchQueue
  readonly #batchMs: Float64Array
  /** Executed items and answered requests, with exponential decay. */
  #items = 0
  #requests = 0
  #queued = 0
  /** The unit of work: first estimate of the time of an item in a full batch at the highest clock, s. */
  #unitS: number | undefined
  #ranMhz = 0

  constructor(goal: ServiceGoal, limits: BatchLimits, topMhz: number) {
    super(goal, topMhz)
    this.#limits = limits
    this.times = new BatchTimes(topMhz)
    this.#queue = new BatchQueue(batchSizesUpTo(limits.maxBatchSize))
    this.#batchMs = new Float64Array(this.#queue.sizes.length)
  }

  get known(): boolean {
    return this.times.known
  }

  protected observe(before: TritonSample, after: TritonSample, { seconds, clockMhz }: Interval): number {
    const bySize = new Map(before.batches.map((batch) => [batch.size, batch]))
    const ran = after.batches.map(({ size, count, ms }) => {
      const earlier = bySize.get(size) ?? { count: 0, ms: 0 }
      return { size, count: Math.max(0, count - earlier.count), ms: Math.max(0, ms - earlier.ms) }
    })
    // Batches at two clocks cannot be told apart.
    if (clockMhz === this.#ranMhz) this.times.observe(clockMhz, ran)
    this.#ranMhz = clockMhz
    const items = sum(ran.map(({ size, count }) => size * count))
    const busyMs = sum(ran.map(({ ms }) => ms))
    const answered = after.completed - before.completed
    const kept = Math.exp(-seconds / ITEMS_S)
    this.#items = kept * this.#items + items
    this.#requests = kept * this.#requests + answered
    this.#queued = after.queued
    const waitMs = (after.waitMs - before.waitMs) / answered
    const runMs = (after.latencyMs - before.latencyMs) / answered - waitMs
    const late = 1 - (this.goal.objectiveMs - runMs) / (WAIT_SPREAD * waitMs)
    this.lateShare = Number.isNaN(late) ? 0 : Math.min(1, Math.max(0, late))
    this.work = this.#workOf(items / seconds, busyMs / 1000 / seconds)
    return answered
  }

  attainmentAt(smClockMhz: number, perS: number): number {
    const { maxBatchSize, instances } = this.#limits
    const { objectiveMs } = this.goal
    const items = this.#itemsPerRequest
    const capacityPerS = (1000 * instances * maxBatchSize) / this.times.timeMs(maxBatchSize, smClockMhz) / items
    const drainedPerS =
      this.#queued * items > maxBatchSize * instances ? (1000 * this.#queued) / (DRAIN * objectiveMs) : 0
    // Its logarithm tells clocks apart at any overload.
    const share = capacityPerS / Math.max(perS, drainedPerS)
    this.#solve(smClockMhz, perS)
    return this.#queue.overloaded || share < 1 ? Math.log(share) : this.#queue.within(objectiveMs)
  }

  workAt(smClockMhz: number): Work {
    this.#solve(smClockMhz, this.rate.perS)
    return this.#workOf(this.rate.perS * this.#itemsPerRequest, this.#queue.utilisation * this.#limits.instances)
  }

  /** Mean number of items of a request, which one batch can hold. Cached answers count as requests without items. */
  get #itemsPerRequest(): number {
    return this.#requests > 0 ? Math.min(this.#limits.maxBatchSize, this.#items / this.#requests) : 1
  }

  #workOf(itemsPerS: number, busy: number): Work {
    if (!this.known) return { full: 0, busy: 0 }
    const { maxBatchSize } = this.#limits
    this.#unitS ??= this.times.timeMs(maxBatchSize, this.topMhz) / maxBatchSize / 1000
    return { full: itemsPerS * this.#unitS, busy }
  }

  /** Solves the queue of items; those of one request arrive at once. */
  #solve(smClockMhz: number, perS: number): void {
    this.#queue.sizes.forEach((size, i) => {
      this.#batchMs[i] = this.times.timeMs(size, smClockMhz)
    })
    const items = this.#itemsPerRequest
    this.#queue.solve({
      ratePerMs: Math.max(0.01, perS * items) / 1000,
      batchMs: this.#batchMs,
      servers: this.#limits.instances,
      delayMs: this.#limits.maxQueueDelayMs,
      burstiness: Math.max(1, items) * this.rate.burstiness,
    })
  }
}
