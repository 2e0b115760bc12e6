/** Latency distribution as a weighted mixture of uniform distributions, ms. */
export class LatencyMixture {
  readonly #weights: number[] = []
  readonly #lowMs: number[] = []
  readonly #widthMs: number[] = []
  #count = 0
  #total = 0

  clear(): void {
    this.#count = 0
    this.#total = 0
  }

  /**
   * Add a uniform distribution to the mixture.
   *
   * @param weight ignored if not above 0
   * @param widthMs 0 for a constant latency
   */
  add(weight: number, lowMs: number, widthMs: number): void {
    if (weight <= 0) return
    const at = this.#count++
    this.#weights[at] = weight
    this.#lowMs[at] = lowMs
    this.#widthMs[at] = widthMs
    this.#total += weight
  }

  /** Fraction of the latencies that are at most this long, 0..1. */
  within(latencyMs: number): number {
    let sum = 0
    for (let i = 0; i < this.#count; i++) {
      const over = latencyMs - this.#lowMs[i]!
      if (over < 0) continue
      const widthMs = this.#widthMs[i]!
      sum += over >= widthMs ? this.#weights[i]! : (this.#weights[i]! * over) / widthMs
    }
    return Math.min(1, sum / this.#total)
  }

  /** Returns a quantile with a relative error of at most 0.001, ms. */
  quantileMs(share: number): number {
    let low = Number.POSITIVE_INFINITY
    let high = 0
    for (let i = 0; i < this.#count; i++) {
      low = Math.min(low, this.#lowMs[i]!)
      high = Math.max(high, this.#lowMs[i]! + this.#widthMs[i]!)
    }
    while (high - low > 1e-3 * high) {
      const middle = (low + high) / 2
      if (this.within(middle) >= share) high = middle
      else low = middle
    }
    return high
  }
}
