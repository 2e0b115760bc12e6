import type { Latencies } from '../metrics/service-sample.js'
import { BatchTimes } from './batch-times.js'

/** Latencies relative to their predicted mean are counted on a grid of so many cells an octave, so many octaves up and down. */
const PER_OCTAVE = 16
const OCTAVES = 6
/** Requests whose latencies are remembered; how many must be known; what the belief before any weighs. */
const REMEMBERED = 1000
const ENOUGH = 20
const PRIOR = 1
/** Share of the capacity from which on a server counts as overloaded. */
const MOST_LOAD = 0.98
/** Concurrency and clock ratio are told apart by these factors. */
const SIZES_PER_OCTAVE = 4
const CLOCK_STEP_MHZ = 15
/** Before anything was measured, the busy share tells how much of a latency is waiting for others: at most so much of it. */
const MOST_SHARED = 0.5

/** Requests differ more than batches do: the belief before any weighs so many, and they are kept for longer. */
const PRIOR_REQUESTS = 20
const KEPT = 0.998

/** What was counted between two samples. */
export interface LatencyInterval {
  readonly seconds: number
  readonly smClockMhz: number
  /** NVML's, 0..1. */
  readonly busyShare: number
  readonly ratePerS: number
  /** Requests in the server now; null where it does not tell. */
  readonly inServer: number | null
  readonly completed: number
  /** Their latencies together, ms. */
  readonly wholeMs: number
  /** Of the kind that the objective judges. */
  readonly judged: Latencies
}

/**
 * Latencies of a server of which nothing but histograms is known. The mean is linear in the requests that share the server and in
 * top / f, as times of batches are, and by Little's law as many share it as its rate times its latency: this is the mean at any clock
 * and rate. What single requests take relative to it is learnt from the buckets.
 */
export class HistogramForecast {
  readonly #topMhz: number
  /** By requests in the server, in place of the size of a batch. */
  readonly #whole: BatchTimes
  readonly #judged: BatchTimes
  readonly #shares: Float64Array = Float64Array.from({ length: 2 * OCTAVES * PER_OCTAVE }, (_, i) => {
    return 2 ** (-2 * Math.abs(i / PER_OCTAVE - OCTAVES))
  })
  /** Sums of the shares up to each cell; the last is that of all. */
  readonly #sums = new Float64Array(2 * OCTAVES * PER_OCTAVE + 1)
  #counted = 0
  #meanMs = 0
  /** Means over about the time that a request takes. */
  #inServer = 0
  #ratio = 1
  #intervals = 0

  constructor(topMhz: number) {
    this.#topMhz = topMhz
    this.#whole = new BatchTimes(topMhz, PRIOR_REQUESTS, KEPT)
    this.#judged = new BatchTimes(topMhz, PRIOR_REQUESTS, KEPT)
    const sum = this.#shares.reduce((total, share) => total + share, 0)
    for (let i = 0; i < this.#shares.length; i++) this.#shares[i]! *= PRIOR / sum
  }

  get known(): boolean {
    return this.#counted >= ENOUGH && this.#judged.known && this.#whole.known
  }

  /** Mean time in the server, ms: changes show no earlier. */
  get meanMs(): number {
    return this.#meanMs
  }

  observe(interval: LatencyInterval): void {
    const { seconds, smClockMhz, busyShare, ratePerS, inServer, completed, wholeMs, judged } = interval
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
    if (this.#intervals++ % 4 === 3 || !this.known) {
      const double = 1 + Math.min(MOST_SHARED, busyShare)
      this.#whole.fit(double)
      this.#judged.fit(double)
    }
    const meanMs = count > 0 ? this.#meanAt(this.#topMhz / this.#ratio, ratePerS) : 0
    if (meanMs > 0 && Number.isFinite(meanMs)) this.#count(judged, meanMs)
  }

  /** Share of the requests within a latency, 0..1; below 0 where the server could not keep up, by so much of the rate. */
  attainmentAt(smClockMhz: number, ratePerS: number, objectiveMs: number): number {
    const load = this.#loadAt(smClockMhz, ratePerS)
    if (load >= MOST_LOAD) return MOST_LOAD / load - 1.001
    return this.#below(objectiveMs / this.#meanAt(smClockMhz, ratePerS))
  }

  /** Whether those who are in the server now would be answered early enough, where they are more than usual. */
  drainsAt(smClockMhz: number, ratePerS: number, inServer: number, objectiveMs: number): boolean {
    if (inServer <= 2 + 2 * this.#inServerAt(smClockMhz, ratePerS)) return true
    return this.#judged.timeMs(inServer, smClockMhz) <= objectiveMs
  }

  /** The busy share there, from what it is now. */
  busyAt(smClockMhz: number, busyShare: number): number {
    return Math.min(
      1,
      (busyShare * this.#whole.slowdown(smClockMhz)) / this.#whole.slowdown(this.#topMhz / this.#ratio),
    )
  }

  /** How much of the server's capacity is asked for. */
  #loadAt(smClockMhz: number, ratePerS: number): number {
    return (ratePerS / 1000) * (this.#whole.timeMs(1, smClockMhz) - this.#whole.timeMs(0, smClockMhz))
  }

  #inServerAt(smClockMhz: number, ratePerS: number): number {
    const load = Math.min(MOST_LOAD, this.#loadAt(smClockMhz, ratePerS))
    return ((ratePerS / 1000) * this.#whole.timeMs(0, smClockMhz)) / (1 - load)
  }

  #meanAt(smClockMhz: number, ratePerS: number): number {
    return this.#judged.timeMs(this.#inServerAt(smClockMhz, ratePerS), smClockMhz)
  }

  /** A bucket says only between which bounds its requests lie: there they are spread as those before them were. */
  #count({ boundsMs, counts }: Latencies, meanMs: number): void {
    const shares = this.#shares
    const kept = Math.max(0, 1 - counts.at(-1)! / REMEMBERED)
    const added = new Float64Array(shares.length)
    boundsMs.forEach((boundMs, i) => {
      const count = counts[i]! - (counts[i - 1] ?? 0)
      if (!(count > 0)) return
      const low = Math.floor(this.#place((boundsMs[i - 1] ?? 0) / meanMs))
      const high = Math.max(low + 1, Math.ceil(this.#place(boundMs / meanMs)))
      let sum = 0
      for (let at = low; at < high; at++) sum += shares[at]! + 1e-9
      for (let at = low; at < high; at++) added[at]! += (count * (shares[at]! + 1e-9)) / sum
    })
    for (let at = 0; at < shares.length; at++) {
      shares[at] = kept * shares[at]! + added[at]!
      this.#sums[at + 1] = this.#sums[at]! + shares[at]!
    }
    this.#counted = kept * this.#counted + counts.at(-1)!
  }

  #below(relative: number): number {
    const place = this.#place(relative)
    const whole = Math.floor(place)
    return (this.#sums[whole]! + (place - whole) * this.#shares[whole]!) / this.#sums.at(-1)!
  }

  /** On the grid. */
  #place(relative: number): number {
    return Math.min(this.#shares.length - 1, Math.max(0, PER_OCTAVE * (Math.log2(relative) + OCTAVES)))
  }
}
