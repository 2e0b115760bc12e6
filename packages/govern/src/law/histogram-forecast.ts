import type { Latencies } from '../metrics/service-sample.js'
import { BatchTimes, type TimesPrior } from './batch-times.js'

/** Approximate number of recent requests whose latencies count. */
const REMEMBERED = 600
/** Number of requests that must have been answered before the forecast is used. */
const ENOUGH = 30
/** Maximum predicted load, as a share of the server's capacity. */
const MAX_LOAD = 0.98
/** Resolution of the measurements: steps per octave of concurrency; below it, steps of the clock, MHz. */
const SIZES_PER_OCTAVE = 4
const CLOCK_STEP_MHZ = 15
/** Times of requests vary more than times of batches, so they get other weights. */
const PRIOR: TimesPrior = { weight: 20, kept: 0.9995, double: 1.25 }

/** Counts between two samples. */
export interface LatencyInterval {
  readonly seconds: number
  readonly smClockMhz: number
  readonly ratePerS: number
  /** Number of requests in the server now; null if the server does not report it. */
  readonly inServer: number | null
  readonly completed: number
  /** Number of requests whose latency was judged. */
  readonly answered: number
  /** Sum of the latencies of the completed requests, ms. */
  readonly wholeMs: number
  /** Latencies of the kind that the objective judges. */
  readonly judged: Latencies
}

/**
 * Forecasts the latencies of a server that reports only histograms. The mean latency is modelled like a batch time: it
 * is linear in the number of requests in the server and in (highest clock / clock). By Little's law, that number is the
 * arrival rate times the latency. This gives the mean latency at any clock and rate. The shape of the distribution
 * comes from the buckets.
 */
export class HistogramForecast {
  readonly #topMhz: number
  /** Latency by the number of requests in the server, which replaces the batch size. */
  readonly #whole: BatchTimes
  readonly #judged: BatchTimes
  /** Number of requests in the counts, with exponential decay. */
  #requests = 0
  /**
   * Latency counts by bucket with exponential decay (several per request if the objective is per token); below, the
   * mean latencies.
   */
  #boundsMs: readonly number[] = []
  #counts: number[] = []
  #counted = 0
  #judgedMs = 0
  #meanMs = 0
  /** Concurrency and clock ratio, averaged over about the duration of a request. */
  #inServer = 0
  #ratio = 1

  constructor(topMhz: number) {
    this.#topMhz = topMhz
    this.#whole = new BatchTimes(topMhz, PRIOR)
    this.#judged = new BatchTimes(topMhz, PRIOR)
  }

  get known(): boolean {
    return this.#requests >= ENOUGH && this.#judged.known && this.#whole.known
  }

  /** Mean time of a request in the server, ms. A change of the clock shows in the latencies only after this time. */
  get meanMs(): number {
    return this.#meanMs
  }

  observe(interval: LatencyInterval): void {
    const { seconds, smClockMhz, ratePerS, inServer, completed, answered, wholeMs, judged } = interval
    const weight = Math.min(1, (2000 * seconds) / Math.max(1, this.#meanMs))
    const now = inServer ?? (ratePerS * this.#meanMs) / 1000
    if (this.#counted === 0) this.#ratio = this.#topMhz / smClockMhz
    this.#inServer += weight * (now - this.#inServer)
    this.#ratio += weight * (this.#topMhz / smClockMhz - this.#ratio)
    if (completed > 0) {
      const kept = Math.exp(-completed / 50)
      const seen = this.#meanMs === 0 ? 0 : kept
      this.#meanMs = seen * this.#meanMs + (1 - seen) * (wholeMs / completed)
    }
    const size = 2 ** (Math.round(SIZES_PER_OCTAVE * Math.log2(Math.max(0.05, this.#inServer))) / SIZES_PER_OCTAVE)
    const clockMhz = CLOCK_STEP_MHZ * Math.round(this.#topMhz / this.#ratio / CLOCK_STEP_MHZ)
    const count = judged.counts.at(-1)!
    this.#whole.observe(clockMhz, size, completed, wholeMs)
    this.#judged.observe(clockMhz, size, count, judged.sumMs)
    this.#whole.fit()
    this.#judged.fit()
    if (count > 0) this.#count(judged, answered)
  }

  /** Predicted share of the requests within a latency, 0..1. */
  attainmentAt(smClockMhz: number, ratePerS: number, objectiveMs: number): number {
    const meanMs = this.#meanAt(smClockMhz, ratePerS)
    return 1 - this.#beyond((objectiveMs * this.#judgedMs) / meanMs)
  }

  /** Predicted busy share at a clock, from the present busy share. */
  busyAt(smClockMhz: number, busyShare: number): number {
    return Math.min(
      1,
      (busyShare * this.#whole.slowdown(smClockMhz)) / this.#whole.slowdown(this.#topMhz / this.#ratio),
    )
  }

  /** Predicted load as a share of the server's capacity. */
  #loadAt(smClockMhz: number, ratePerS: number): number {
    return (ratePerS / 1000) * (this.#whole.timeMs(1, smClockMhz) - this.#whole.timeMs(0, smClockMhz))
  }

  #inServerAt(smClockMhz: number, ratePerS: number): number {
    const load = Math.min(MAX_LOAD, this.#loadAt(smClockMhz, ratePerS))
    return ((ratePerS / 1000) * this.#whole.timeMs(0, smClockMhz)) / (1 - load)
  }

  #meanAt(smClockMhz: number, ratePerS: number): number {
    return this.#judged.timeMs(this.#inServerAt(smClockMhz, ratePerS), smClockMhz)
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
