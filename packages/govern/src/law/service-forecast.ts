import { BatchQueue, batchSizesUpTo } from '@pctodl/perf-model/serving'
import { ArrivalRate } from '@pctodl/scheduler'
import { type BatchLimits, type Latencies, type ServiceSample, since, wasReset } from '../metrics/service-sample.js'
import { BatchTimes } from './batch-times.js'
import { HistogramForecast } from './histogram-forecast.js'

export interface GovernedService {
  readonly name: string
  readonly objectiveMs: number
  /** Share of the requests that must be answered within `objectiveMs`. */
  readonly attainment: number
  /** Null if the server does not report its batching limits. */
  readonly limits: BatchLimits | null
}

/** Observations between two samples. */
export interface Interval {
  readonly timeMs: number
  readonly seconds: number
  /** The SM clock at the end of the interval. */
  readonly clockMhz: number | null
  /** Whether the clock was the same at the beginning. */
  readonly isSteady: boolean
  /** Mean busy share of the board by NVML, 0..1. */
  readonly busyShare: number
  /** Whether late requests do not count, because a higher clock would not have helped. */
  readonly excused: boolean
}

/**
 * Work of a service per second, in two measures for the power model. `full`: the time that the requests would take in
 * full batches at the highest clock; its energy does not depend on the clock. `busy`: the time in which batches run;
 * its power depends on the clock.
 */
export interface Work {
  readonly full: number
  readonly busy: number
}

const NO_WORK: Work = { full: 0, busy: 0 }
/**
 * To estimate late requests, waits within an interval are assumed uniform between 0 and this multiple of their mean.
 */
const WAIT_SPREAD = 2.2
/** Time constant of the measured attainment, s. */
const WINDOW_S = 300
/** Share of the late requests that the objective allows at which caution reaches 1. */
const FULL = 0.3
/** Time constant of the measured number of items of a request, s. */
const ITEMS_S = 30
/** Time constant with which the peak rate decays, s. */
const PEAK_S = 600
/** Number of requests over which the peak rate is counted. */
const PEAK_REQUESTS = 20
/** At full caution, the law prepares for the peak rate times this factor. */
const PEAK_FACTOR = 1.1

/** Forecasts one service from its server's counters: the attainment that it would reach at another clock. */
export class ServiceForecast {
  readonly service: GovernedService
  readonly times: BatchTimes
  readonly #rate = new ArrivalRate(1)
  readonly #queue: BatchQueue | null
  /**
   * Forecast from the server's latency histogram. Used instead of the queue model if the server does not count batches.
   */
  readonly #histogram: HistogramForecast
  #busyShare = 0
  readonly #batchMs: Float64Array
  #before: ServiceSample | null = null
  #queued = 0
  /** Number of requests known to have arrived since the server started. */
  #known = 0
  /** Highest rate of the last minutes with exponential decay, requests/s. */
  #peakPerS = 0
  /**
   * Answered requests, and those that were late although a higher clock would have helped. Both decay exponentially
   * over the attainment window.
   */
  #decided = 0
  #late = 0
  #caution = 0
  readonly #topMhz: number
  #unitS: number | undefined
  /** Executed items and answered requests, with exponential decay. */
  #items = 0
  #requests = 0
  /** Work of the last interval. */
  work: Work = NO_WORK
  /** Share of late requests in the last interval, 0..1. */
  lateShare = 0

  constructor(service: GovernedService, topMhz: number) {
    this.service = service
    this.times = new BatchTimes(topMhz)
    this.#topMhz = topMhz
    const { limits } = service
    this.#queue = limits ? new BatchQueue(batchSizesUpTo(limits.maxBatchSize)) : null
    this.#histogram = new HistogramForecast(topMhz)
    this.#batchMs = new Float64Array(this.#queue?.sizes.length ?? 0)
  }

  /** Arrival rates, requests/s: the rate to prepare for, and the present rate. */
  get rates(): readonly [number, number] {
    const { perS } = this.#rate
    return [perS + this.#caution * Math.max(0, PEAK_FACTOR * this.#peakPerS - perS), perS]
  }

  /** Whether enough was measured to forecast. */
  get known(): boolean {
    return this.#queue !== null ? this.times.known : this.#histogram.known
  }

  /** Time until a change of the clock shows in the latencies, ms. */
  get shownAfterMs(): number {
    return this.#queue !== null ? 0 : this.#histogram.meanMs
  }

  /** Starts again from a server's first counters after a restart or a gap. Fitted models are kept. */
  rebase(sample: ServiceSample | null): void {
    this.#before = sample
    this.#known = 0
    this.work = NO_WORK
  }

  update(sample: ServiceSample, interval: Interval): void {
    const { timeMs, seconds, excused } = interval
    const before = this.#before
    this.#before = sample
    if (before === null || wasReset(before, sample)) {
      this.rebase(sample)
      return
    }
    const judged = before.judged && sample.judged && since(before.judged, sample.judged)
    // If the objective is per token, several latencies count for one request.
    const perRequest = sample.judged === null ? 1 : sample.completed / Math.max(1, sample.judged.counts.at(-1)!)
    const answered = judged === null ? sample.completed - before.completed : perRequest * judged.counts.at(-1)!
    // If the buckets have changed, counts are not comparable and would show false late requests.
    const isComparable = sample.judged === null || judged !== null
    const late = isComparable ? this.#lateOf(before, sample, answered) * perRequest : 0
    this.lateShare = answered > 0 ? late / answered : 0
    const { queued, running } = sample
    // Without a count of running requests, the sum falls when waiting requests start to run.
    this.#known = Math.max(this.#known, sample.completed + sample.failed + queued + (running ?? 0))
    this.#queued = queued + (running ?? 0)
    this.#rate.update(timeMs, this.#known)
    this.#remember(seconds, answered, excused ? 0 : late)
    if (this.#queue !== null) this.#learn(before, sample, answered, interval)
    else if (judged !== null) this.#learnLatencies(before, sample, judged, answered, interval)
  }

  #learnLatencies(
    before: ServiceSample,
    sample: ServiceSample,
    judged: Latencies,
    answered: number,
    { seconds, clockMhz, busyShare }: Interval,
  ): void {
    if (clockMhz === null) return
    this.#histogram.observe({
      ...{ seconds, smClockMhz: clockMhz, ratePerS: this.rates[1], answered, judged },
      inServer: sample.running === null ? null : this.#queued,
      completed: sample.completed - before.completed,
      wholeMs: sample.latencyMs - before.latencyMs,
    })
    // NVML's busy share is attributed to this server, because the server reports no better figure.
    this.#busyShare = busyShare
    this.work = { full: 0, busy: busyShare }
  }

  /** Number of late requests between two samples; estimated if the server does not count them. */
  #lateOf(before: ServiceSample, after: ServiceSample, answered: number): number {
    if (answered <= 0) return 0
    if (after.late !== null && before.late !== null) return after.late - before.late
    if (after.waitMs === null || before.waitMs === null) return 0
    const waitMs = (after.waitMs - before.waitMs) / answered
    const runMs = (after.latencyMs - before.latencyMs) / answered - waitMs
    const share = 1 - (this.service.objectiveMs - runMs) / (WAIT_SPREAD * waitMs)
    return Number.isFinite(share) ? answered * Math.min(1, Math.max(0, share)) : 0
  }

  #learn(
    before: ServiceSample,
    after: ServiceSample,
    answered: number,
    { seconds, clockMhz, isSteady }: Interval,
  ): void {
    let busyMs = 0
    let items = 0
    for (const { size, count, ms } of after.batches) {
      const earlier = before.batches.find((each) => each.size === size)
      const ran = count - (earlier?.count ?? 0)
      if (!(ran > 0)) continue
      const ranMs = ms - (earlier?.ms ?? 0)
      if (isSteady && clockMhz !== null) this.times.observe(clockMhz, size, ran, ranMs)
      busyMs += ranMs
      items += ran * size
    }
    const kept = Math.exp(-seconds / ITEMS_S)
    this.#items = kept * this.#items + items
    this.#requests = kept * this.#requests + answered
    this.work = this.#workOf(items / seconds, busyMs / 1000 / seconds)
    this.times.fit()
  }

  /**
   * Updates attainment, peak rate and caution. Caution is 0 while few requests are late, and 1 before the allowed
   * number is reached.
   */
  #remember(seconds: number, answered: number, late: number): void {
    // A rate counted over few requests is no peak. `meanPerS` takes ten samples for a second.
    const samples = Math.ceil(PEAK_REQUESTS / Math.max(0.1, this.#rate.perS) / seconds)
    const perS = this.#rate.meanPerS(samples / 10)
    const kept = Math.exp(-seconds / WINDOW_S)
    this.#peakPerS = Math.max(perS, Math.exp(-seconds / PEAK_S) * this.#peakPerS)
    this.#decided = kept * this.#decided + answered
    this.#late = kept * this.#late + late
    const share = this.#late / Math.max(1, this.#decided)
    this.#caution = Math.min(1, share / (1 - this.service.attainment) / FULL)
  }

  /** Mean number of items of a request. Cached answers count as requests without items. */
  get #itemsPerRequest(): number {
    return this.#requests > 0 ? this.#items / this.#requests : 1
  }

  #workOf(itemsPerS: number, busy: number): Work {
    if (!this.times.known) return NO_WORK
    const largest = this.service.limits?.maxBatchSize ?? 1
    // The unit of work stays constant, even if the batch times are fitted anew later.
    this.#unitS ??= this.times.timeMs(largest, this.#topMhz) / largest / 1000
    return { full: itemsPerS * this.#unitS, busy }
  }

  /**
   * Predicted share of requests within the objective, 0..1. If the rate exceeds the capacity, it is negative: minus the
   * share of the rate beyond the capacity.
   */
  attainmentAt(smClockMhz: number, ratePerS: number): number {
    const { objectiveMs } = this.service
    const queue = this.#queue
    if (queue === null) return this.#histogram.attainmentAt(smClockMhz, ratePerS, objectiveMs)
    this.#solve(smClockMhz, ratePerS)
    if (queue.overloaded) return this.#capacityPerS(smClockMhz) / ratePerS - 1
    return queue.within(objectiveMs)
  }

  /**
   * Whether waiting requests are answered early enough at a clock. One batch per instance does not count as waiting.
   *
   * @param share share of the objective in which they must be answered
   */
  drainsAt(smClockMhz: number, share: number): boolean {
    const { limits, objectiveMs } = this.service
    const queued = this.#queued
    if (limits === null || queued * this.#itemsPerRequest <= limits.maxBatchSize * limits.instances) return true
    return 1000 * queued <= share * objectiveMs * this.#capacityPerS(smClockMhz)
  }

  /** Predicted work at a rate and a clock. */
  workAt(smClockMhz: number, ratePerS: number): Work {
    const queue = this.#queue
    if (queue === null) return { full: 0, busy: this.#histogram.busyAt(smClockMhz, this.#busyShare) }
    this.#solve(smClockMhz, ratePerS)
    return this.#workOf(ratePerS * this.#itemsPerRequest, queue.utilisation * this.service.limits!.instances)
  }

  #solve(smClockMhz: number, ratePerS: number): void {
    const queue = this.#queue!
    const { instances, maxQueueDelayMs } = this.service.limits!
    queue.sizes.forEach((size, i) => {
      this.#batchMs[i] = this.times.timeMs(size, smClockMhz)
    })
    // The queue model counts items; those of one request arrive at once.
    const items = this.#itemsPerRequest
    const burstiness = Math.max(1, items) * this.#rate.burstiness
    const ratePerMs = Math.max(0.01, ratePerS * items) / 1000
    queue.solve({ ratePerMs, batchMs: this.#batchMs, servers: instances, delayMs: maxQueueDelayMs, burstiness })
  }

  /** Requests/s that full batches answer at a clock. */
  #capacityPerS(smClockMhz: number): number {
    const { maxBatchSize, instances } = this.service.limits!
    return (1000 * instances * maxBatchSize) / this.times.timeMs(maxBatchSize, smClockMhz) / this.#itemsPerRequest
  }
}
