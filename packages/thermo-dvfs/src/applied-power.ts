const CAPACITY = 64

export interface AppliedPowerState {
  readonly startsMs: readonly number[]
  readonly powersW: readonly number[]
}

/**
 * What the model says the board drew lately: a step function of time, over which a sensor's averaging window can be laid.
 * Comparing a lagging reading with this, and not with the power of the present clock, is what lets the controller move
 * the clock and learn at the same time.
 */
export class AppliedPower {
  readonly #startsMs = new Float64Array(CAPACITY)
  readonly #powersW = new Float64Array(CAPACITY)
  #first = 0
  #count = 0

  /** From `startMs` on the model's power is `powerW`. */
  push(startMs: number, powerW: number): void {
    if (this.#count > 0 && this.#powersW[this.#at(this.#count - 1)] === powerW) return
    if (this.#count === CAPACITY) {
      this.#first = (this.#first + 1) % CAPACITY
      this.#count--
    }
    const slot = this.#at(this.#count++)
    this.#startsMs[slot] = startMs
    this.#powersW[slot] = powerW
  }

  /** Mean over a window, W; before the beginning of the history the oldest power is assumed. */
  average(fromMs: number, toMs: number): number {
    let energy = 0
    let endMs = toMs
    for (let i = this.#count - 1; i >= 0 && endMs > fromMs; i--) {
      const slot = this.#at(i)
      const startMs = i === 0 ? fromMs : Math.max(fromMs, this.#startsMs[slot]!)
      if (startMs >= endMs) continue
      energy += this.#powersW[slot]! * (endMs - startMs)
      endMs = startMs
    }
    return energy / (toMs - fromMs)
  }

  /** Highest minus lowest power in a window, W. */
  spread(fromMs: number, toMs: number): number {
    const { low, high } = this.#extremes(fromMs, toMs)
    return high - low
  }

  /** Highest power in a window, W. */
  highest(fromMs: number, toMs: number): number {
    return this.#extremes(fromMs, toMs).high
  }

  /** Lowest power in a window, W. */
  lowest(fromMs: number, toMs: number): number {
    return this.#extremes(fromMs, toMs).low
  }

  #extremes(fromMs: number, toMs: number): { readonly low: number; readonly high: number } {
    let low = Number.POSITIVE_INFINITY
    let high = Number.NEGATIVE_INFINITY
    for (let i = this.#count - 1; i >= 0; i--) {
      const slot = this.#at(i)
      if (this.#startsMs[slot]! >= toMs && i > 0) continue
      low = Math.min(low, this.#powersW[slot]!)
      high = Math.max(high, this.#powersW[slot]!)
      if (this.#startsMs[slot]! <= fromMs) break
    }
    return { low, high }
  }

  state(): AppliedPowerState {
    const slots = Array.from({ length: this.#count }, (_, i) => this.#at(i))
    return { startsMs: slots.map((slot) => this.#startsMs[slot]!), powersW: slots.map((slot) => this.#powersW[slot]!) }
  }

  restore(state: AppliedPowerState): void {
    this.#first = 0
    this.#count = state.startsMs.length
    this.#startsMs.set(state.startsMs)
    this.#powersW.set(state.powersW)
  }

  #at(index: number): number {
    return (this.#first + index) % CAPACITY
  }
}
