import { type HistogramSample, since } from '../metrics/histograms.js'
import type { Latencies } from '../metrics/prometheus-text.js'
import { BatchTimes, type TimesPrior } from './batch-times.js'
import type { Work } from './board-power.js'
import { GovernedService, type Interval, type ServiceGoal } from './governed-service.js'

/** Numbers of requests: whose latencies count, roughly; before a forecast is used; of the mean time in the server. */
const REMEMBERED = 600
const ENOUGH = 30
const MEAN_OVER = 50
/** Highest load with which latencies are predicted; with 1, they have no bound. */
const FULL_LOAD = 0.97
/** Lowest time of an empty server, as a share of that with one request. */
const MIN_EMPTY = 0.01
const PRIOR: TimesPrior = { weight: 20, kept: 0.9995, double: 1.25 }

/**
 * A service whose server reports only histograms. Its mean latency is modelled as the time of a batch that contains all
 * requests in the server. The shape of the distribution comes from the buckets.
 */
export class HistogramService extends GovernedService<HistogramSample> {
  readonly #times: BatchTimes
  /** Recent latencies, with exponential decay, and the number of their requests. */
  #recent: Latencies = { boundsMs: [], counts: [], sumMs: 0 }
  #requests = 0
  /** Mean time of a request in the server, ms, and (highest clock / clock) averaged over it. */
  #meanMs = 0
  #ratio = 0

  constructor(goal: ServiceGoal, topMhz: number) {
    super(goal, topMhz)
    this.#times = new BatchTimes(topMhz, PRIOR)
  }

  get known(): boolean {
    return this.#requests >= ENOUGH && this.#times.known
  }

  protected observe(before: HistogramSample, after: HistogramSample, interval: Interval): number {
    const { seconds, clockMhz, busyShare } = interval
    const weight = Math.min(1, (2000 * seconds) / Math.max(1, this.#meanMs))
    this.#ratio += weight * (this.topMhz / clockMhz - this.#ratio)
    const completed = after.completed - before.completed
    if (completed > 0) {
      const kept = this.#meanMs === 0 ? 0 : Math.exp(-completed / MEAN_OVER)
      this.#meanMs = kept * this.#meanMs + ((1 - kept) * (after.latencyMs - before.latencyMs)) / completed
    }
    const judged = since(before.judged, after.judged)
    const count = judged?.counts.at(-1) ?? 0
    // If the objective is per token, one request has several latencies.
    const answered = (count * after.completed) / Math.max(1, after.judged.counts.at(-1)!)
    if (judged !== null && count > 0) {
      // A measured number of requests would contain the same noise as the latency that it shall explain.
      const latencyMs = this.#latencyMs(this.topMhz / this.#ratio) || judged.sumMs / count
      const size = (Math.max(0.05, this.rate.perS) * latencyMs) / 1000
      this.#times.observe(this.topMhz / this.#ratio, [{ size, count, ms: judged.sumMs }])
      this.#remember(judged, answered)
    }
    this.work = { full: 0, busy: busyShare }
    this.lateShare = count > 0 ? (after.late - before.late) / count : 0
    return answered
  }

  attainmentAt(smClockMhz: number, perS: number): number {
    const { sumMs, counts } = this.#recent
    const meanMs = sumMs / counts.at(-1)!
    return 1 - this.#beyond((this.goal.objectiveMs * meanMs) / this.#latencyMs(smClockMhz, perS), meanMs)
  }

  workAt(smClockMhz: number): Work {
    const slowdown = this.#latencyMs(smClockMhz) / this.#latencyMs(this.topMhz / this.#ratio)
    return { full: 0, busy: Math.min(1, this.work.busy * slowdown) }
  }

  /** Mean latency, by Little's law: as many requests are in the server as arrive during one latency. It is bounded. */
  #latencyMs(smClockMhz: number, perS: number = this.rate.perS): number {
    const aloneMs = this.#times.timeMs(1, smClockMhz)
    // A fit to broken counters may have no time of an empty server, with which every latency would be 0.
    const emptyMs = Math.max(this.#times.timeMs(0, smClockMhz), MIN_EMPTY * aloneMs)
    return emptyMs / (1 - Math.min(FULL_LOAD, (perS * (aloneMs - emptyMs)) / 1000))
  }

  #remember({ boundsMs, counts, sumMs }: Latencies, requests: number): void {
    const recent = this.#recent
    const kept = recent.boundsMs.length === boundsMs.length ? Math.max(0, 1 - requests / REMEMBERED) : 0
    this.#requests = kept * this.#requests + requests
    this.#recent = {
      boundsMs,
      counts: counts.map((count, i) => kept * (recent.counts[i] ?? 0) + count),
      sumMs: kept * recent.sumMs + sumMs,
    }
  }

  /** Share of requests above a latency: it falls exponentially between two bounds, and with the mean above the highest. */
  #beyond(ms: number, meanMs: number): number {
    const { boundsMs, counts } = this.#recent
    const all = counts.at(-1)!
    const highestMs = boundsMs[counts.findIndex((count) => count >= all * (1 - 1e-9))]!
    if (ms > highestMs) return (0.5 / (all + 1)) * Math.exp((highestMs - ms) / meanMs)
    const bucket = boundsMs.findIndex((bound) => bound >= ms)
    const lowMs = boundsMs[bucket - 1] ?? 0
    const above = bucket === 0 ? 1 : (all - counts[bucket - 1]! + 0.5) / (all + 1)
    const below = (all - counts[bucket]! + 0.5) / (all + 1)
    return above * (below / above) ** ((ms - lowMs) / (boundsMs[bucket]! - lowMs))
  }
}
