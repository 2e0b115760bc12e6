/** Number of buckets per doubling of the latency. A bucket is less than 1 % wide. */
const SUB_BUCKETS = 128
/** Number of doublings above the linear part. The largest value is about 4.7 hours. */
const OCTAVES = 27
const BUCKETS = SUB_BUCKETS * (OCTAVES + 1)

/**
 * Histogram of latencies with logarithmic buckets of constant relative width, after Tene's HDR histogram. Quantiles are
 * accurate to 1 % from 1 us to 4 hours, in constant memory. The difference of two snapshots is the histogram of the
 * time between them.
 */
export class LatencyHistogram {
  readonly #counts: Uint32Array
  #count: number

  constructor() {
    this.#counts = new Uint32Array(BUCKETS)
    this.#count = 0
  }

  get count(): number {
    return this.#count
  }

  /** @param latencyMs at least 0; values beyond the range count as the largest value */
  record(latencyMs: number): void {
    this.#counts[bucketOf(latencyMs * 1000)]!++
    this.#count++
  }

  /** An immutable copy. */
  snapshot(): LatencyHistogram {
    const copy = new LatencyHistogram()
    copy.#counts.set(this.#counts)
    copy.#count = this.#count
    return copy
  }

  /** Returns the latencies recorded after `earlier`, a snapshot of this histogram. */
  since(earlier: LatencyHistogram): LatencyHistogram {
    const difference = new LatencyHistogram()
    for (let i = 0; i < BUCKETS; i++) difference.#counts[i] = this.#counts[i]! - earlier.#counts[i]!
    difference.#count = this.#count - earlier.#count
    return difference
  }

  /**
   * Returns a quantile of the latencies, ms (the middle of its bucket); NaN if nothing was recorded.
   *
   * @param share above 0, at most 1; 0.95 for p95
   */
  quantileMs(share: number): number {
    if (this.#count === 0) return Number.NaN
    const rank = Math.max(1, Math.ceil(share * this.#count))
    let seen = 0
    for (let i = 0; i < BUCKETS; i++) {
      seen += this.#counts[i]!
      if (seen >= rank) return middleOf(i) / 1000
    }
    return middleOf(BUCKETS - 1) / 1000
  }
}

/** Latencies up to 128 us have one bucket per microsecond; above, each doubling has 128 buckets. */
function bucketOf(latencyUs: number): number {
  if (!(latencyUs >= 0)) return 0
  if (latencyUs < SUB_BUCKETS) return Math.floor(latencyUs)
  const octave = Math.floor(Math.log2(latencyUs / SUB_BUCKETS))
  const bucket = SUB_BUCKETS * (octave + 1) + Math.floor((latencyUs / (SUB_BUCKETS * 2 ** octave) - 1) * SUB_BUCKETS)
  return Math.min(BUCKETS - 1, bucket)
}

function middleOf(bucket: number): number {
  if (bucket < SUB_BUCKETS) return bucket + 0.5
  const octave = Math.floor(bucket / SUB_BUCKETS) - 1
  return 2 ** octave * (SUB_BUCKETS + (bucket % SUB_BUCKETS) + 0.5)
}
