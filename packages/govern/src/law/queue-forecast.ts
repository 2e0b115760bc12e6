import { BatchQueue, batchSizesUpTo } from '@pctodl/perf-model/serving'
import type { BatchLimits } from '../metrics/service-sample.js'
import { BatchTimes } from './batch-times.js'
import type { Work } from './board-power.js'
import type { Arrivals, Forecast, Interval } from './forecast.js'

/** Time constant over which the number of items per request is averaged, s. */
const ITEMS_S = 30

/** Forecast for a server that counts its batches by size: a queue from which batches of measured times are taken. */
export class QueueForecast implements Forecast {
  readonly times: BatchTimes
  readonly shownAfterMs = 0
  readonly #limits: BatchLimits
  readonly #objectiveMs: number
  readonly #topMhz: number
  readonly #queue: BatchQueue
  readonly #batchMs: Float64Array
  /** Executed items and answered requests, with exponential decay. */
  #items = 0
  #requests = 0
  /** Time of an item in a full batch at the highest clock, s. It stays constant as the unit of work. */
  #unitS: number | undefined

  constructor(limits: BatchLimits, objectiveMs: number, topMhz: number) {
    this.#limits = limits
    this.#objectiveMs = objectiveMs
    this.#topMhz = topMhz
    this.times = new BatchTimes(topMhz)
    this.#queue = new BatchQueue(batchSizesUpTo(limits.maxBatchSize))
    this.#batchMs = new Float64Array(this.#queue.sizes.length)
  }

  get known(): boolean {
    return this.times.known
  }

  observe({ before, after, seconds, clockMhz, isSteady, answered }: Interval): Work {
    const ran = after.batches.map(({ size, count, ms }) => {
      const earlier = before.batches.find((each) => each.size === size) ?? { count: 0, ms: 0 }
      return { size, count: count - earlier.count, ms: ms - earlier.ms }
    })
    this.times.observe(clockMhz, isSteady ? ran : [])
    const items = ran.reduce((sum, { size, count }) => sum + size * count, 0)
    const busyMs = ran.reduce((sum, { ms }) => sum + ms, 0)
    const kept = Math.exp(-seconds / ITEMS_S)
    this.#items = kept * this.#items + items
    this.#requests = kept * this.#requests + answered
    return this.#workOf(items / seconds, busyMs / 1000 / seconds)
  }

  attainmentAt(smClockMhz: number, arrivals: Arrivals): number {
    this.#solve(smClockMhz, arrivals)
    if (this.#queue.overloaded) return this.#capacityPerS(smClockMhz) / arrivals.perS - 1
    return this.#queue.within(this.#objectiveMs)
  }

  /** One batch per instance does not count as waiting. */
  drainsAt(smClockMhz: number, queued: number, ms: number): boolean {
    const { maxBatchSize, instances } = this.#limits
    if (queued * this.#itemsPerRequest <= maxBatchSize * instances) return true
    return 1000 * queued <= ms * this.#capacityPerS(smClockMhz)
  }

  workAt(smClockMhz: number, arrivals: Arrivals): Work {
    this.#solve(smClockMhz, arrivals)
    return this.#workOf(arrivals.perS * this.#itemsPerRequest, this.#queue.utilisation * this.#limits.instances)
  }

  /** Mean number of items of a request. Cached answers count as requests without items. */
  get #itemsPerRequest(): number {
    return this.#requests > 0 ? this.#items / this.#requests : 1
  }

  #workOf(itemsPerS: number, busy: number): Work {
    if (!this.known) return { full: 0, busy: 0 }
    const { maxBatchSize } = this.#limits
    this.#unitS ??= this.times.timeMs(maxBatchSize, this.#topMhz) / maxBatchSize / 1000
    return { full: itemsPerS * this.#unitS, busy }
  }

  /** Solves the queue of items; those of one request arrive at once. */
  #solve(smClockMhz: number, { perS, burstiness }: Arrivals): void {
    this.#queue.sizes.forEach((size, i) => {
      this.#batchMs[i] = this.times.timeMs(size, smClockMhz)
    })
    const items = this.#itemsPerRequest
    this.#queue.solve({
      ratePerMs: Math.max(0.01, perS * items) / 1000,
      batchMs: this.#batchMs,
      servers: this.#limits.instances,
      delayMs: this.#limits.maxQueueDelayMs,
      burstiness: Math.max(1, items) * burstiness,
    })
  }

  /** Requests/s that full batches answer at a clock. */
  #capacityPerS(smClockMhz: number): number {
    const { maxBatchSize, instances } = this.#limits
    return (1000 * instances * maxBatchSize) / this.times.timeMs(maxBatchSize, smClockMhz) / this.#itemsPerRequest
  }
}
