import { LatencyMixture } from './latency-mixture.js'
import { balanced } from './stationary.js'

/** One queue from which alike servers take batches. Times in ms. */
export interface BatchQueueInput {
  /** Requests/ms. */
  readonly ratePerMs: number
  /** Time of a batch of each size, in the order of the sizes; does not fall. */
  readonly batchMs: Float64Array
  readonly servers: number
  /** The longest that a free server waits for a batch to fill. */
  readonly delayMs: number
  /**
   * Variance over mean of the number of requests in a time, at least 1: 1 for independent users (Poisson), b for Gamma intervals of
   * burstiness b over times that are long against them. Default 1.
   */
  readonly burstiness?: number
}

/** Points within a batch at which an arrival behind a backlog is taken to come. */
const MOMENTS = 3
/** Probabilities below are not followed. */
const LEAST = 1e-7
/** A backlog whose length halves with less than each fortieth of a request more than that is as good as none. */
const STEEPEST = 4
/** Share of the capacity from which on the servers count as overloaded. */
const MAX_LOAD = 0.995
/** Share of a backlog that is not told apart. */
const MIN_BACKLOG = 5e-4

const latencies = new LatencyMixture()

/**
 * How long requests take where servers answer batches of all that wait, at most as many as the largest size; a batch takes what
 * the next larger size does. Several servers count as one that is so many times as fast, whose batches take as long as theirs.
 *
 * The embedded chain of the bulk queue (Bailey, 1954) on few states: how many requests arrive during a batch depends on its size
 * alone, so a batch's size is the state, and one more state is a full batch with a backlog behind it, whose length is taken to
 * fall geometrically at the rate at which that of the exact chain does far out. Latencies are a mixture of uniform ones: who
 * comes during a batch waits for what is left of it, and then takes what the next one does.
 */
export class BatchQueue {
  /** Whose latencies the one mixture holds: a search makes many queues, and asks each once. */
  static #measured: BatchQueue | undefined
  /** Batch sizes, ascending. */
  readonly sizes: readonly number[]
  /** Share of the batches that run each size. */
  readonly shares: Float64Array
  /** Batches/ms of all servers. */
  batchesPerMs = 0
  /** Share of a server's time in which it runs, 0..1. */
  utilisation = 0
  /** Whether the servers cannot keep up: latencies then grow without bound. */
  overloaded = false
  readonly #most: number
  /** For each number of requests, the index of the batch size that runs it. */
  readonly #kindOf: Uint16Array
  readonly #moves: Float64Array
  readonly #states: Float64Array
  /** By state: probability that nobody is left at its end, and how long a free server then waits for more, on average, ms. */
  readonly #idle: Float64Array
  readonly #waitsMs: Float64Array
  #ratePerMs = 0
  #batchMs: Float64Array = new Float64Array()
  #servers = 1
  #delayMs = 0
  #burstiness = 1
  /** By how much the probability of a backlog falls with each request more. */
  #decay = 0

  /** @param sizes ascending; the last is the most requests in a batch */
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

  /** Batches and utilisation at these rates; latencies are worked out when they are asked for. */
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

  /** Latency that a share of the requests does not exceed, ms. */
  quantileMs(share: number): number {
    if (this.overloaded) return Number.POSITIVE_INFINITY
    this.#measure()
    return latencies.quantileMs(share)
  }

  /** Share of the requests that are answered within a time, 0..1. */
  within(latencyMs: number): number {
    if (this.overloaded) return 0
    this.#measure()
    return latencies.within(latencyMs)
  }

  /** Time from a batch's start to its end as if all servers were one, ms. */
  #takesMs(state: number): number {
    return this.#batchMs[Math.min(state, this.sizes.length - 1)]! / this.#servers
  }

  /**
   * 1 / z where z > 1 solves E[z^(arrivals during a full batch)] = z^(most): so falls the backlog of the exact chain far out.
   * In x = ln z the difference is concave; Newton's method comes down to its root from the right.
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
      // The root is further still: so steep a fall is as good as none.
      if (step === 0 && excess >= 0) break
      const move = excess / (spread === 1 ? most - arrivals * power : most - (shape * q * power) / (1 - q * power))
      x -= move
      if (Math.abs(move) < 1e-3 * x) break
    }
    return Math.exp(-x)
  }

  /** Where a batch of a state leads. */
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

  /** Where so many wait when a server is free: those who come while it waits for more are their mean, between two whole numbers. */
  #place(row: number, left: number, share: number, takesMs: number): number {
    const waitMs = this.#collectMs(left, takesMs)
    const count = Math.min(this.#most, Math.max(1, left) + this.#ratePerMs * waitMs)
    const whole = Math.floor(count)
    this.#moves[row + this.#kindOf[whole]!]! += share * (1 - (count - whole))
    if (count > whole) this.#moves[row + this.#kindOf[whole + 1]!]! += share * (count - whole)
    return waitMs
  }

  /** How long a free server waits where so many are left, of whom the first has waited through most of a batch. */
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
   * Number of requests in a time: Poisson, or the negative binomial of the same mean whose variance is `burstiness` times as large;
   * p(k + 1) = p(k) (base + more k) / (k + 1).
   *
   * @param beside 1: how many others come beside one of them
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

  /** Those who come while nobody runs after a batch, and those who come during one that leaves no backlog. */
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
      // Those who come while a server waits beside those who were left: as many for each of them.
      latencies.add((weight * arrivals * probability * this.#ratePerMs * waitMs) / left, this.#batchMs[next]!, waitMs)
      rest -= probability
      restMean -= left * probability
      probability *= (counts.base + counts.more * (left - 1)) / left
    }
    if (share > 0) latencies.add(weight * arrivals * share, waited / share + this.#batchMs[kind]!, takesMs)
    if (rest > LEAST) this.#measureOverflow(weight * arrivals * rest, restMean / rest, takesMs)
  }

  /** Those who come during a batch together with more than the next one takes: the first with the next batch, the others later. */
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

  /** Those who come during a full batch that has left a backlog. */
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
      // From here on the backlog alone decides, batch by batch.
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

  /** The size of a batch of which so many are in line, and others come until it begins. */
  #kindBehind(count: number, untilMs: number): number {
    return this.#kindOf[Math.min(this.#most, Math.round(count + this.#ratePerMs * untilMs))]!
  }
}

/** Probabilities of 0, 1, 2, ... requests. */
interface Counts {
  readonly mean: number
  /** Of none. */
  readonly first: number
  readonly base: number
  readonly more: number
}
