const SECOND_MS = 1000
const CAPACITY = 32
/** Mean of a second that is aimed at after an excess: a little below what breaks a cap, share of it. */
const AIMED = 1.004
/** A clock that is asked for shows in power about then, ms. */
const SHOWS_MS = 100
/** From when on the means are to be within the bound, ms: sooner would cost more than it saves. */
const SOON_MS = 250
/** What one reading, each of two in a row, and a second's mean must lie above the cap to be an excess, share of it. */
const ONE = 0.05
const TWO = 0.02
const MEAN = 0.009
/** What the board's own average must be for that mean to count, share of the cap. */
const AGREES = 1.003
/** Lowest share that is asked for. */
const LEAST = 0.9

export interface SecondBudgetState {
  readonly timesMs: number[]
  /** Drawn in the time before each, share of the cap of then. */
  readonly shares: number[]
}

/**
 * What is left to draw of the second that is judged: where a load comes back heavier than known, power is above the cap for the two or
 * three tenths of a second that it takes to be seen, and every mean that holds them stays above for as long as they are in it, unless
 * what follows draws as much less.
 */
export class SecondBudget {
  readonly state: SecondBudgetState

  constructor(state?: SecondBudgetState) {
    this.state = state ?? { timesMs: [], shares: [] }
  }

  /** @param share of the cap that was drawn since the step before, as read; null where nothing was: then as before */
  add(timeMs: number, share: number | null): void {
    const { timesMs, shares } = this.state
    timesMs.push(timeMs)
    shares.push(share ?? shares[shares.length - 1] ?? 0)
    while (timesMs.length > CAPACITY || timesMs[0]! < timeMs - SECOND_MS - SHOWS_MS) {
      timesMs.shift()
      shares.shift()
    }
  }

  /**
   * Whether more was drawn in the last second than readings that scatter like this would say: by one of them, by two in a row or by their
   * mean.
   *
   * @param noise standard deviation of a reading, share of the cap
   */
  exceeded(noise: number, average: number | null): boolean {
    const { shares } = this.state
    const one = 1 + Math.max(ONE, 4 * noise)
    const two = 1 + Math.max(TWO, 2.5 * noise)
    for (let i = 1; i < shares.length; i++) {
      if (shares[i]! > one || Math.min(shares[i]!, shares[i - 1]!) > two) return true
    }
    return this.mean > 1 + Math.max(MEAN, 0.7 * noise) && (average === null || average > AGREES)
  }

  /** Mean of the last second, share of the cap. */
  get mean(): number {
    const { timesMs, shares } = this.state
    const count = timesMs.length
    if (count < 2 || timesMs[count - 1]! - timesMs[0]! < 0.95 * SECOND_MS) return 0
    const fromMs = timesMs[count - 1]! - SECOND_MS
    let drawn = 0
    for (let i = 1; i < count; i++) drawn += shares[i]! * Math.max(0, timesMs[i]! - Math.max(fromMs, timesMs[i - 1]!))
    return drawn / SECOND_MS
  }

  /** The share of the cap that may be drawn from now on, so that no mean of a second is above what is aimed at from soon on. */
  left(): number {
    const { timesMs, shares } = this.state
    const count = timesMs.length
    if (count < 2) return Number.POSITIVE_INFINITY
    const nowMs = timesMs[count - 1]!
    // Until the answer shows, the board draws what it draws.
    const showsMs = nowMs + SHOWS_MS
    const nowShare = (shares[count - 1]! + shares[count - 2]!) / 2
    let lowest = Number.POSITIVE_INFINITY
    for (let endMs = nowMs + SOON_MS; endMs <= showsMs + SECOND_MS; endMs += 50) {
      const fromMs = endMs - SECOND_MS
      let drawn = nowShare * (showsMs - Math.max(fromMs, nowMs))
      for (let i = 1; i < count; i++) {
        const spanMs = timesMs[i]! - Math.max(fromMs, timesMs[i - 1]!)
        if (spanMs > 0) drawn += shares[i]! * spanMs
      }
      lowest = Math.min(lowest, (AIMED * SECOND_MS - drawn) / (endMs - Math.max(fromMs, showsMs)))
    }
    return Math.max(LEAST, lowest)
  }
}
