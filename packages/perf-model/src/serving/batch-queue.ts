import { LatencyMixture } from './latency-mixture.js'
import { balanced } from './stationary.js'

/** One queue whose requests identical servers answer in batches. Times are in ms. */
export interface BatchQueueInput {
  /** Requests/ms. */
  readonly ratePerMs: number
  /** Time of a batch of each size, in the order of the sizes; non-decreasing. */
  readonly batchMs: Float64Array
  readonly servers: number
  /** Longest time that a free server waits for a batch to fill, ms. */
  readonly delayMs: number
  /**
   * Variance-to-mean ratio of the number of requests in an interval, >= 1. It is 1 for independent users (Poisson
   * arrivals). For Gamma-distributed gaps of burstiness b, it is b over long intervals. Default 1.
   */
  readonly burstiness?: number
}

/** Number of representative arrival times within a batch, for requests that arrive behind a backlog. */
const MOMENTS = 3
/** States with a lower probability are ignored. */
const LEAST = 1e-7
/** Upper limit of the backlog's decay rate per request. A backlog that decays faster is negligible. */
const STEEPEST = 4
/** Utilisation from which the servers count as overloaded. */
const MAX_LOAD = 0.995
/** Tail probability below which a backlog is not resolved further. */
const MIN_BACKLOG = 5e-4

const latencies = new LatencyMixture()

/**
 * Latencies of requests to servers that batch all waiting requests, up to the largest size. A batch takes the time of
 * the next larger size. Several servers are modelled as one server that starts correspondingly more batches; the
 * latency of a batch stays the same.
 *
 * The model is the embedded Markov chain of the bulk queue (Bailey, 1954), on few states. The number of arrivals during
 * a batch depends only on its size, so the batch size is the state. One more state is a full batch with a backlog. The
 * length of the backlog is assumed geometric, with the asymptotic decay rate of the exact chain. Latencies are a
 * mixture of uniform distributions: a request that arrives during a batch waits for the rest of that batch, and then
 * takes the time of the next batch.
 */
export class BatchQueue {
  /** Queue to which `latencies` belongs. A search creates many queues and asks each once, so one mixture is enough. */
  static #measured: BatchQueue | undefined
  /** Batch sizes, ascending. */
  readonly sizes: readonly number[]
  /** Fraction of the batches of each size. */
  readonly shares: Float64Array
  /** Batches/ms of all servers together. */
  batchesPerMs = 0
  /** Fraction of time in which a server is busy, 0..1. */
  utilisation = 0
  /** True if the servers cannot keep up, so that latencies grow without bound. */
  overloaded = false
  readonly #most: number
  /** For each request count, the index of the batch size that runs it. */
  readonly #kindOf: Uint16Array
  readonly #moves: Float64Array
  readonly #states: Float64Array
  /** For each state, the probability that the queue is empty at the end of its batch. */
  readonly #idle: Float64Array
  /** For each state, the mean time after its batch that a free server waits for the next batch to fill, ms. */
  readonly #waitsMs: Float64Array
  #ratePerMs = 0
  #batchMs: Float64Array = new Float64Array()
  #servers = 1
  #delayMs = 0
  #burstiness = 1
  /** Ratio of the probabilities of two backlogs that differ by one request. */
  #decay = 0

  /** @param sizes batch sizes, ascending */
  constructor(sizes: readonly number[]) {
    const kinds = sizes.length
    this.sizes = sizes
    this.#most = sizes[kinds - 1]!
    this.shares = new Float64Array(kinds)
    this.#kindOf = new Uint16Array(this.#most + 1)
    for (let count = 1, kind = 0; count <= this.#most; count++) {
      if (count > sizes[kind]!) kind++
      this.#kindOf[count] = kind
    }
    this.#moves = new Float64Array((kinds + 1) * (kinds + 1))
    this.#states = new Float64Array(kinds + 1)
    this.#idle = new Float64Array(kinds + 1)
    this.#waitsMs = new Float64Array(kinds + 1)
  }

  /** Compute batch rates and utilisation; latencies are computed on demand. */
  solve({ ratePerMs, batchMs, servers, delayMs, burstiness = 1 }: BatchQueueInput): void {
    const last = this.sizes.length - 1
    this.#ratePerMs = ratePerMs
    this.#batchMs = batchMs
    this.#servers = servers
    this.#delayMs = delayMs
    this.#burstiness = burstiness
    if (BatchQueue.#measured === this) BatchQueue.#measured = undefined
    const fullMs = batchMs[last]! / servers
    this.overloaded = ratePerMs * fullMs >= MAX_LOAD * this.#most
    if (this.overloaded) {
      this.shares.fill(0)
      this.shares[last] = 1
      this.batchesPerMs = 1 / fullMs
      this.utilisation = 1
      return
    }
    this.#decay = this.#findDecay(ratePerMs * fullMs)
    for (let state = 0; state <= last + 1; state++) this.#leave(state)
    balanced(this.#moves, last + 2, this.#states)
    this.#countCycles()
  }

  /** Quantile of the latency, ms. */
  quantileMs(share: number): number {
    if (this.overloaded) return Number.POSITIVE_INFINITY
    this.#measure()
    return latencies.quantileMs(share)
  }

  /** Fraction of the requests that are answered within a time, 0..1. */
  within(latencyMs: number): number {
    if (this.overloaded) return 0
    this.#measure()
    return latencies.within(latencyMs)
  }

  /** Time of a state's batch divided by the number of servers, as if all servers were one, ms. */
  #takesMs(state: number): number {
    return this.#batchMs[Math.min(state, this.sizes.length - 1)]! / this.#servers
  }

  /**
   * Returns 1 / z, where z > 1 solves E[z^(arrivals during a full batch)] = z^(most): the asymptotic decay of the exact
   * chain's backlog. In x = ln z, the difference of the logarithms is concave, so Newton's method converges to the root
   * from the right.
   */
  #findDecay(arrivals: number): number {
    const most = this.#most
    const spread = this.#burstiness
    const shape = arrivals / (spread - 1)
    const q = 1 - 1 / spread
    let x = Math.min(STEEPEST, (2 * (most - arrivals)) / (arrivals * spread))
    if (spread > 1) x = Math.min(x, -0.999 * Math.log(q))
    for (let step = 0; step < 20; step++) {
      const power = Math.exp(x)
      const excess =
        spread === 1 ? most * x - arrivals * (power - 1) : most * x + shape * Math.log((1 - q * power) * spread)
      // The root lies further right, so the decay is steep enough to be negligible.
      if (step === 0 && excess >= 0) break
      const move = excess / (spread === 1 ? most - arrivals * power : most - (shape * q * power) / (1 - q * power))
      x -= move
      if (Math.abs(move) < 1e-3 * x) break
    }
    return Math.exp(-x)
  }

  /** Compute the transition probabilities out of a state. */
  #leave(state: number): void {
    const kinds = this.sizes.length
    const row = state * (kinds + 1)
    const moves = this.#moves
    const backlog = state === kinds
    const most = this.#most
    const takesMs = this.#takesMs(state)
    const counts = this.#counts(this.#ratePerMs * takesMs, 0)
    for (let to = 0; to <= kinds; to++) moves[row + to] = 0
    let rest = 1
    let waited = 0
    let behind = 0
    let probability = counts.first
    for (let left = 0; left <= most; left++) {
      let share = probability
      if (backlog) {
        share = behind
        behind = this.#decay * behind + (1 - this.#decay) * probability
      } else if (share < 1e-12 && left > counts.mean) break
      rest -= share
      if (left === 0) this.#idle[state] = share
      if (this.#delayMs === 0) moves[row + (left === 0 ? 0 : this.#kindOf[left]!)]! += share
      else waited += share * this.#place(row, left, share, takesMs)
      probability *= (counts.base + counts.more * left) / (left + 1)
    }
    moves[row + kinds] = Math.max(0, rest)
    this.#waitsMs[state] = waited
  }

  /**
   * Add the transition for `left` waiting requests when a server becomes free. Arrivals while the server waits are
   * replaced by their mean, split between the two nearest integers.
   *
   * @returns time that the server waits, ms
   */
  #place(row: number, left: number, share: number, takesMs: number): number {
    const waitMs = this.#collectMs(left, takesMs)
    const count = Math.min(this.#most, Math.max(1, left) + this.#ratePerMs * waitMs)
    const whole = Math.floor(count)
    this.#moves[row + this.#kindOf[whole]!]! += share * (1 - (count - whole))
    if (count > whole) this.#moves[row + this.#kindOf[whole + 1]!]! += share * (count - whole)
    return waitMs
  }

  /**
   * Time that a free server waits for a batch to fill when `left` requests remain, ms. The first of them is assumed to
   * have arrived early in the last batch.
   */
  #collectMs(left: number, takesMs: number): number {
    if (this.#delayMs === 0 || left >= this.#most) return 0
    const waitedMs = left < 1 ? 0 : (takesMs * left) / (left + 1)
    const untilFullMs = (this.#most - Math.max(1, left)) / this.#ratePerMs
    return Math.max(0, Math.min(this.#delayMs - waitedMs, untilFullMs))
  }

  #countCycles(): void {
    const kinds = this.sizes.length
    let runsMs = 0
    let waitsMs = 0
    let idle = 0
    for (let state = 0; state <= kinds; state++) {
      runsMs += this.#states[state]! * this.#takesMs(state)
      waitsMs += this.#states[state]! * this.#waitsMs[state]!
      idle += this.#states[state]! * this.#idle[state]!
    }
    for (let kind = 0; kind < kinds; kind++) this.shares[kind] = this.#states[kind]!
    this.shares[kinds - 1]! += this.#states[kinds]!
    const cycleMs = runsMs + waitsMs + idle / this.#ratePerMs
    this.batchesPerMs = 1 / cycleMs
    this.utilisation = runsMs / cycleMs
  }

  /**
   * Distribution of the number of requests in an interval: Poisson, or the negative binomial with the same mean and a
   * variance `burstiness` times as large. The probabilities satisfy p(k + 1) = p(k) (base + more k) / (k + 1).
   *
   * @param beside 1: the number of other requests, given one request in the interval; 0: the number of all requests
   */
  #counts(arrivals: number, beside: 0 | 1): Counts {
    const spread = this.#burstiness
    if (spread === 1) return { mean: arrivals, first: Math.exp(-arrivals), base: arrivals, more: 0 }
    const shape = arrivals / (spread - 1) + beside
    const more = 1 - 1 / spread
    return { mean: shape * (spread - 1), first: Math.exp(-shape * Math.log(spread)), base: shape * more, more }
  }

  #measure(): void {
    if (BatchQueue.#measured === this) return
    BatchQueue.#measured = this
    latencies.clear()
    const kinds = this.sizes.length
    for (let state = 0; state < kinds; state++) if (this.#states[state]! > LEAST) this.#measureState(state)
    if (this.#states[kinds]! > LEAST) this.#measureBacklog()
  }

  /**
   * Adds the latencies of two groups of requests: those that arrive after a batch of this state, while the server is
   * idle, and those that arrive during a batch of this state, if it leaves no backlog.
   */
  #measureState(state: number): void {
    const most = this.#most
    const weight = this.#states[state]!
    const takesMs = this.#takesMs(state)
    const arrivals = this.#ratePerMs * takesMs
    const idleWaitMs = this.#collectMs(0, takesMs)
    const idleMs = this.#batchMs[this.#kindOf[Math.min(most, Math.round(1 + this.#ratePerMs * idleWaitMs))]!]!
    const idle = weight * this.#idle[state]!
    latencies.add(idle, idleWaitMs + idleMs, 0)
    latencies.add(idle * this.#ratePerMs * idleWaitMs, idleMs, idleWaitMs)

    const counts = this.#counts(arrivals, 1)
    let probability = counts.first
    let rest = 1
    let restMean = counts.mean + 1
    let share = 0
    let kind = this.#kindOf[1]!
    let waited = 0
    for (let left = 1; left <= most; left++) {
      if (probability < 1e-12 && left > counts.mean) {
        rest = 0
        break
      }
      const waitMs = this.#collectMs(left, takesMs)
      const next = this.#kindOf[Math.min(most, Math.round(left + this.#ratePerMs * waitMs))]!
      if (next !== kind) {
        if (share > 0) latencies.add(weight * arrivals * share, waited / share + this.#batchMs[kind]!, takesMs)
        kind = next
        share = 0
        waited = 0
      }
      share += probability
      waited += probability * waitMs
      // Add requests that arrive while the server waits to fill a batch. Their weight is per request that was left.
      latencies.add((weight * arrivals * probability * this.#ratePerMs * waitMs) / left, this.#batchMs[next]!, waitMs)
      rest -= probability
      restMean -= left * probability
      probability *= (counts.base + counts.more * (left - 1)) / left
    }
    if (share > 0) latencies.add(weight * arrivals * share, waited / share + this.#batchMs[kind]!, takesMs)
    if (rest > LEAST) this.#measureOverflow(weight * arrivals * rest, restMean / rest, takesMs)
  }

  /**
   * Add the latencies of requests that arrive during one batch and are too many for the next batch. The first of them
   * run in the next batch, the others later.
   */
  #measureOverflow(weight: number, together: number, takesMs: number): void {
    const most = this.#most
    const last = this.sizes.length - 1
    const fullMs = this.#takesMs(last)
    for (let behind = 0; behind * most < together; behind++) {
      const from = (behind * most) / together
      const to = Math.min(1, ((behind + 1) * most) / together)
      const count = together - behind * most + this.#ratePerMs * behind * fullMs
      const kind = behind === 0 ? last : this.#kindOf[Math.max(1, Math.min(most, Math.round(count)))]!
      const lowMs = takesMs * (1 - to) + behind * fullMs + this.#batchMs[kind]!
      latencies.add(weight * (to - from), lowMs, takesMs * (to - from))
    }
  }

  /** Add the latencies of requests that arrive during a full batch with a backlog. */
  #measureBacklog(): void {
    const most = this.#most
    const last = this.sizes.length - 1
    const fullMs = this.#takesMs(last)
    const weight = (this.#states[last + 1]! * this.#ratePerMs * fullMs) / MOMENTS
    for (let moment = 0; moment < MOMENTS; moment++) {
      const leftMs = (fullMs * (moment + 0.5)) / MOMENTS
      const counts = this.#counts(this.#ratePerMs * (fullMs - leftMs), 0)
      const lowMs = leftMs - fullMs / (2 * MOMENTS)
      const near = Math.ceil(counts.mean + 5 * Math.sqrt(counts.mean * this.#burstiness) + 3)
      let probability = counts.first
      let share = 0
      let rest = 1
      let sum = 0
      let before = 0
      let kind = this.#kindBehind(1, leftMs)
      let ahead = 1
      for (; ahead <= near && rest > MIN_BACKLOG; ahead++) {
        share = this.#decay * share + (1 - this.#decay) * probability
        probability *= (counts.base + counts.more * (ahead - 1)) / ahead
        const full = Math.floor(ahead / most)
        const next = this.#kindBehind(ahead - full * most + 1, leftMs + full * fullMs)
        if (next !== kind || full !== before) {
          latencies.add(weight * sum, lowMs + before * fullMs + this.#batchMs[kind]!, fullMs / MOMENTS)
          sum = 0
          kind = next
          before = full
        }
        rest -= share
        sum += share
      }
      // From here on, only the backlog matters. It is counted in whole batches.
      while (rest > MIN_BACKLOG) {
        const to = (before + 1) * most
        const within = rest * (1 - this.#decay ** Math.max(0, to - ahead))
        latencies.add(weight * (sum + within), lowMs + before * fullMs + this.#batchMs[kind]!, fullMs / MOMENTS)
        rest -= within
        sum = 0
        ahead = to
        before++
        kind = this.#kindBehind(1, leftMs + before * fullMs)
      }
      latencies.add(weight * (sum + rest), lowMs + before * fullMs + this.#batchMs[kind]!, fullMs / MOMENTS)
    }
  }

  /** Size index of a batch with `count` requests in line, plus the arrivals until the batch begins. */
  #kindBehind(count: number, untilMs: number): number {
    return this.#kindOf[Math.min(this.#most, Math.round(count + this.#ratePerMs * untilMs))]!
  }
}

/** Distribution of a request count, as a recurrence of its probabilities. */
interface Counts {
  readonly mean: number
  /** Probability of 0. */
  readonly first: number
  readonly base: number
  readonly more: number
}
