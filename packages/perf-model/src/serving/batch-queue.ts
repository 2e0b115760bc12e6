/** One queue from which alike servers take batches. Times in ms. */
export interface BatchQueueInput {
  /** Requests/ms of independent users. */
  readonly ratePerMs: number
  /** Most requests in a batch. */
  readonly most: number
  /** Time of a batch by the number of its requests, index 0 unused; does not fall. */
  readonly batchMs: Float64Array
  readonly servers: number
  /** The longest that a free server waits for a batch to fill. */
  readonly delayMs: number
}

/** Points within a batch at which an arrival is taken to come. */
const MOMENTS = 6
/** Relative width of a bin of latencies. */
const BIN = 0.015
const BINS = 900
const MOST_ROUNDS = 300

/**
 * How long requests take where servers answer batches of all that wait, at most `most`: the chain of the number of requests in
 * the system at the start of each batch (embedded in the bulk queue of Bailey, 1954), solved by iteration, with batch times
 * that depend on the size. Several servers count as one that is so many times as fast, whose batches take as long as theirs.
 * Keeps its last solution to begin the next with: rates that follow each other cost less.
 */
export class BatchQueue {
  /** Share of the batches that have so many requests, by number. */
  readonly sizes: Float64Array
  /** Batches/ms of all servers. */
  batchesPerMs = 0
  /** Share of a server's time in which it runs, 0..1. */
  utilisation = 0
  /** Whether the servers cannot keep up: latencies then grow without bound. */
  overloaded = false
  #input: BatchQueueInput | undefined
  readonly #bins = new Float64Array(BINS)
  #leastMs = 1
  #total = 0
  /** Of the number in the system at the start of a batch. */
  #states: Float64Array
  /** Of the number that a batch leaves when it ends. */
  readonly #left: Float64Array
  #next: Float64Array
  /** Batches that take alike, each with the probabilities of the arrivals in its time. */
  readonly #kinds: BatchKind[] = []

  constructor(most: number) {
    this.sizes = new Float64Array(most + 1)
    const states = Math.max(64, 8 * most)
    this.#states = new Float64Array(states)
    this.#left = new Float64Array(states)
    this.#next = new Float64Array(states)
    this.#states[1] = 1
  }

  /** Batches and utilisation at these rates; latencies are worked out when they are asked for. */
  solve(input: BatchQueueInput): void {
    const { ratePerMs, most, batchMs, servers } = input
    this.#input = input
    this.#total = 0
    const fullMs = batchMs[most]! / servers
    this.overloaded = ratePerMs * fullMs >= 0.995 * most
    this.sizes.fill(0)
    if (this.overloaded) {
      this.sizes[most] = 1
      this.batchesPerMs = 1 / fullMs
      this.utilisation = 1
      return
    }
    this.#findKinds(input)
    this.#settle(input)
    this.#countCycles(input)
  }

  /** Latency that a share of the requests does not exceed, ms. */
  quantileMs(share: number): number {
    if (this.overloaded) return Number.POSITIVE_INFINITY
    this.#measure()
    let left = share * this.#total
    for (let i = 0; i < BINS; i++) {
      left -= this.#bins[i]!
      if (left <= 0) return this.#leastMs * Math.exp(BIN * (i + 0.5))
    }
    return this.#leastMs * Math.exp(BIN * BINS)
  }

  /** Share of the requests that are answered within a time, 0..1. */
  within(latencyMs: number): number {
    if (this.overloaded) return 0
    this.#measure()
    let sum = 0
    for (let i = 0; i < BINS && this.#leastMs * Math.exp(BIN * (i + 0.5)) <= latencyMs; i++) sum += this.#bins[i]!
    return sum / this.#total
  }

  #findKinds({ ratePerMs, most, batchMs, servers }: BatchQueueInput): void {
    this.#kinds.length = 0
    for (let size = 1; size <= most; size++) {
      const last = this.#kinds.at(-1)
      if (last && last.batchMs === batchMs[size] && size < most) last.to = size
      else {
        const arrivals = poisson((ratePerMs * batchMs[size]!) / servers, this.#states.length)
        this.#kinds.push({ from: size, to: size, batchMs: batchMs[size]!, arrivals })
      }
    }
  }

  /** What batches leave, where the numbers at their starts are as they are. */
  #leave(): void {
    const states = this.#states
    const left = this.#left.fill(0)
    const last = left.length - 1
    for (const { from, to, arrivals } of this.#kinds) {
      let share = 0
      for (let size = from; size <= to; size++) share += states[size]!
      if (share > 1e-9) for (let j = 0; j < arrivals.length; j++) left[j]! += share * arrivals[j]!
    }
    const { to: most, arrivals } = this.#kinds.at(-1)!
    for (let inSystem = most + 1; inSystem < states.length; inSystem++) {
      const share = states[inSystem]!
      if (share < 1e-9) continue
      const stay = inSystem - most
      const count = Math.min(arrivals.length, last - stay)
      for (let j = 0; j < count; j++) left[stay + j]! += share * arrivals[j]!
    }
  }

  #settle(input: BatchQueueInput): void {
    const { ratePerMs, most } = input
    for (let round = 0; round < MOST_ROUNDS; round++) {
      this.#leave()
      const states = this.#states
      const next = this.#next.fill(0)
      const meanMs = this.#meanMs(input)
      let total = 0
      for (let left = 0; left < next.length; left++) {
        const weight = this.#left[left]!
        if (weight === 0) continue
        total += weight
        if (left >= most) next[left]! += weight
        else {
          // Those who come while a free server waits for more: their mean, between two whole numbers.
          const more = Math.max(1, left) + ratePerMs * collectMs(left, input, meanMs)
          const whole = Math.floor(more)
          next[Math.min(most, whole)]! += weight * (1 - (more - whole))
          next[Math.min(most, whole + 1)]! += weight * (more - whole)
        }
      }
      let moved = 0
      for (let i = 0; i < next.length; i++) {
        next[i]! /= total
        moved += Math.abs(next[i]! - states[i]!)
      }
      this.#states = next
      this.#next = states
      if (moved < 1e-5) return
    }
  }

  /** Mean time from the start of a batch to its end, as if all servers were one, ms. */
  #meanMs({ servers }: BatchQueueInput): number {
    let mean = 0
    let rest = 1
    for (const { from, to, batchMs } of this.#kinds) {
      let share = 0
      for (let size = from; size <= to; size++) share += this.#states[size]!
      mean += share * batchMs
      rest -= share
    }
    return (mean + rest * this.#kinds.at(-1)!.batchMs) / servers
  }

  #countCycles(input: BatchQueueInput): void {
    const { ratePerMs, most, servers } = input
    const meanMs = this.#meanMs(input)
    this.#leave()
    let cycleMs = meanMs
    for (let left = 0; left < most; left++) {
      cycleMs += this.#left[left]! * (collectMs(left, input, meanMs) + (left === 0 ? 1 / ratePerMs : 0))
    }
    let full = 1
    for (let size = 1; size < most; size++) {
      this.sizes[size] = this.#states[size]!
      full -= this.#states[size]!
    }
    this.sizes[most] = full
    this.batchesPerMs = 1 / cycleMs
    this.utilisation = Math.min(1, (meanMs * servers) / cycleMs / servers)
  }

  /** Latencies of the settled chain: of those who come while nobody runs, and of those who come during a batch. */
  #measure(): void {
    if (this.#total > 0) return
    const input = this.#input!
    const { ratePerMs, most, batchMs, servers } = input
    const meanMs = this.#meanMs(input)
    this.#bins.fill(0)
    this.#leastMs = 0.5 * batchMs[1]!
    for (let left = 0; left < most; left++) {
      const share = this.#left[left]!
      if (share < 1e-9) continue
      const waitMs = collectMs(left, input, meanMs)
      const endMs = batchMs[Math.min(most, Math.round(Math.max(1, left) + ratePerMs * waitMs))]!
      if (left === 0) this.#add(share, waitMs + endMs)
      for (let i = 0; i < 3; i++) this.#add((share * ratePerMs * waitMs) / 3, (waitMs * (i + 0.5)) / 3 + endMs)
    }
    const states = this.#states
    const ahead = this.#next
    for (const { from, to, batchMs: takesServerMs } of this.#kinds) {
      const takesMs = takesServerMs / servers
      for (let moment = 0; moment < MOMENTS; moment++) {
        const sinceMs = (takesMs * (moment + 0.5)) / MOMENTS
        const arrivals = poisson(ratePerMs * sinceMs, states.length)
        ahead.fill(0)
        let share = 0
        for (let size = from; size <= to; size++) share += states[size]!
        for (let j = 0; j < arrivals.length; j++) ahead[j] = share * arrivals[j]!
        if (to === most) {
          for (let inSystem = most + 1; inSystem < states.length; inSystem++) {
            const stay = inSystem - most
            const weight = states[inSystem]!
            if (weight < 1e-8) continue
            const count = Math.min(arrivals.length, ahead.length - stay)
            for (let j = 0; j < count; j++) ahead[stay + j]! += weight * arrivals[j]!
          }
        }
        this.#addPositions(ahead, takesMs - sinceMs, (ratePerMs * takesMs) / MOMENTS, input, meanMs)
      }
    }
  }

  /** Those who come with so many ahead of them, and so much left of the batch that runs. */
  #addPositions(ahead: Float64Array, leftMs: number, weight: number, input: BatchQueueInput, meanMs: number): void {
    const { ratePerMs, most, batchMs, servers } = input
    const fullMs = batchMs[most]! / servers
    for (let position = 0; position < ahead.length; position++) {
      const share = ahead[position]!
      if (share < 1e-8) continue
      const full = Math.floor(position / most)
      let waitMs = leftMs + full * fullMs
      const together = position - full * most + 1 + ratePerMs * waitMs
      if (full === 0 && together < most) waitMs += collectMs(together, input, meanMs)
      const answered = Math.min(most, Math.max(1, Math.round(together)))
      this.#add(weight * share, waitMs + batchMs[answered]!)
    }
  }

  #add(weight: number, latencyMs: number): void {
    const bin = Math.floor(Math.log(latencyMs / this.#leastMs) / BIN)
    this.#bins[bin < 0 ? 0 : bin >= BINS ? BINS - 1 : bin]! += weight
    this.#total += weight
  }
}

/** Batches of neighbouring sizes that take alike: those that are filled up to the same one. */
interface BatchKind {
  readonly from: number
  to: number
  readonly batchMs: number
  readonly arrivals: Float64Array
}

/** Probabilities of 0, 1, 2, ... arrivals, as far as they matter. */
function poisson(mean: number, most: number): Float64Array {
  const count = Math.min(most, Math.ceil(mean + 5 * Math.sqrt(mean) + 6))
  const arrivals = new Float64Array(count)
  // From the mode outwards, so that nothing underflows.
  const mode = Math.min(count - 1, Math.floor(mean))
  arrivals[mode] = 1
  let sum = 1
  for (let k = mode; k > 0; k--) {
    arrivals[k - 1] = (arrivals[k]! * k) / mean
    sum += arrivals[k - 1]!
  }
  for (let k = mode + 1; k < count; k++) {
    arrivals[k] = (arrivals[k - 1]! * mean) / k
    sum += arrivals[k]!
  }
  for (let k = 0; k < count; k++) arrivals[k]! /= sum
  return arrivals
}

/** How long a free server waits where so many are left, of whom the first has waited through most of a batch. */
function collectMs(left: number, { ratePerMs, most, delayMs }: BatchQueueInput, batchMs: number): number {
  if (delayMs === 0) return 0
  const waitedMs = left < 1 ? 0 : (batchMs * left) / (left + 1)
  const untilFullMs = (most - Math.max(1, left)) / ratePerMs
  return Math.max(0, Math.min(delayMs - waitedMs, untilFullMs))
}
