import type { Latencies } from '../metrics/service-sample.js'
import { BatchTimes, type TimesPrior } from './batch-times.js'
import type { Work } from './board-power.js'
import type { Arrivals, Forecast, Interval } from './forecast.js'

/** Approximate number of recent requests whose latencies count. */
const REMEMBERED = 600
/** Number of requests that must have been answered before the forecast is used. */
const ENOUGH = 30
/** Number of requests over which the mean time in the server is measured. */
const MEAN_OVER = 50
/** Latencies vary more than times of batches, so they get other weights. */
const PRIOR: TimesPrior = { weight: 20, kept: 0.9995, double: 1.25 }

/**
 * Forecast for a server that reports only histograms. The mean latency is modelled like the time of a batch, with the
 * arrival rate in place of the batch size. The shape of the distribution comes from the buckets.
 */
export class HistogramForecast implements Forecast {
  readonly #objectiveMs: number
  readonly #topMhz: number
  readonly #times: BatchTimes
  /** Counts of latencies by bucket with exponential decay, and their mean, ms. */
  #boundsMs: readonly number[] = []
  #counts: number[] = []
  #counted = 0
  #judgedMs = 0
  /** Number of requests in the counts; if the objective is per token, one request has several latencies. */
  #requests = 0
  /** Mean time of a request in the server, ms, and (highest clock / clock) averaged over it. */
  #meanMs = 0
  #ratio = 0
  #busyShare = 0

  constructor(objectiveMs: number, topMhz: number) {
    this.#objectiveMs = objectiveMs
    this.#topMhz = topMhz
    this.#times = new BatchTimes(topMhz, PRIOR)
  }

  get known(): boolean {
    return this.#requests >= ENOUGH && this.#times.known
  }

  get shownAfterMs(): number {
    return this.#meanMs
  }

  observe({ before, after, seconds, clockMhz, busyShare, ratePerS, answered, judged }: Interval): Work {
    const weight = this.#ratio === 0 ? 1 : Math.min(1, (2000 * seconds) / Math.max(1, this.#meanMs))
    this.#ratio += weight * (this.#topMhz / clockMhz - this.#ratio)
    const completed = after.completed - before.completed
    if (completed > 0) {
      const kept = this.#meanMs === 0 ? 0 : Math.exp(-completed / MEAN_OVER)
      this.#meanMs = kept * this.#meanMs + ((1 - kept) * (after.latencyMs - before.latencyMs)) / completed
    }
    const count = judged?.counts.at(-1) ?? 0
    if (judged !== null && count > 0) {
      this.#times.observe(this.#topMhz / this.#ratio, [{ size: Math.max(0.05, ratePerS), count, ms: judged.sumMs }])
      this.#count(judged, answered)
    }
    // NVML's busy share is attributed to this server, because the server reports no better figure.
    this.#busyShare = busyShare
    return { full: 0, busy: busyShare }
  }

  attainmentAt(smClockMhz: number, { perS }: Arrivals): number {
    return 1 - this.#beyond((this.#objectiveMs * this.#judgedMs) / this.#times.timeMs(perS, smClockMhz))
  }

  /** The number of requests that such a server works on at once is unknown, so a queue cannot be judged. */
  drainsAt(): boolean {
    return true
  }

  workAt(smClockMhz: number, { perS }: Arrivals): Work {
    const now = this.#times.timeMs(perS, this.#topMhz / this.#ratio)
    return { full: 0, busy: Math.min(1, (this.#busyShare * this.#times.timeMs(perS, smClockMhz)) / now) }
  }

  #count({ boundsMs, counts, sumMs }: Latencies, requests: number): void {
    const added = counts.at(-1)!
    const kept = this.#boundsMs.length === boundsMs.length ? Math.max(0, 1 - requests / REMEMBERED) : 0
    this.#requests = kept * this.#requests + requests
    this.#boundsMs = boundsMs
    this.#counts = counts.map((count, i) => kept * (this.#counts[i] ?? 0) + count)
    this.#counted = kept * this.#counted + added
    this.#judgedMs += (added / this.#counted) * (sumMs / added - this.#judgedMs)
  }

  /**
   * Share of requests above a latency. It is interpolated exponentially between two bounds. Above the highest bucket
   * with a count, it decays at the scale of the mean latency.
   */
  #beyond(ms: number): number {
    const highest = this.#counts.findIndex((count) => count >= this.#counted * (1 - 1e-9))
    const highestMs = this.#boundsMs[highest]!
    if (ms > highestMs) return (0.5 / (this.#counted + 1)) * Math.exp((highestMs - ms) / this.#judgedMs)
    const bucket = this.#boundsMs.findIndex((bound) => bound >= ms)
    const at = (i: number) => (i < 0 ? 1 : (this.#counted - this.#counts[i]! + 0.5) / (this.#counted + 1))
    const [lowMs, highMs] = [this.#boundsMs[bucket - 1] ?? 0, this.#boundsMs[bucket]!]
    if (!Number.isFinite(highMs)) return at(bucket - 1)
    return at(bucket - 1) * (at(bucket) / at(bucket - 1)) ** ((ms - lowMs) / (highMs - lowMs))
  }
}
