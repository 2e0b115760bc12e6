const SECOND_MS = 1000
/** Steps that are kept: those of a second, and before them as long as readings may be late. */
const KEPT_MS = 3500
const CAPACITY = 180
/** A reading of a step down of the cap, or of shortly after, is of the cap before, ms. */
const OF_BEFORE_MS = 250
/** What one reading, each of two in a row, and a second's mean must lie above the cap to be an excess, share of it; in deviations of a reading. */
const ONE = 0.03
const ONE_SIGMAS = 5
const TWO = 0.02
const TWO_SIGMAS = 3
const MEAN = 0.009
const MEAN_SIGMAS = 0.9
/** Standard deviation of a reading before any was seen, share of the cap, and the weight of the newest two in it. */
const FIRST_NOISE = 0.01
const NOISE_WEIGHT = 0.02
/** What two readings differ by beyond so many deviations is no noise. */
const OUTLIER_SIGMAS = 3
/** Two readings of one power differ by no more than this, in deviations. */
const TWO_READINGS = 2
/** What the board's own average must be for that mean to count, share of the cap. */
const AGREES = 1.003
/** Readings nearer than this may be one, ms. */
const APART_MS = 80
/** Mean of a second that is aimed at after an excess: below what breaks a cap, share of it. */
const AIMED = 1.004
/** A clock that is asked for shows in power about then, ms. */
const SHOWS_MS = 100
/** From when on the means are to be within the bound, ms: sooner would cost more than it saves. */
const SOON_MS = 250
const STEP_MS = 50
/** Lowest share of the cap that is asked for. */
const LEAST = 0.9

export interface SecondBudgetState {
  readonly timesMs: number[]
  readonly capsW: number[]
  /** Drawn in the time before each, share of the cap of then. */
  readonly shares: number[]
  readonly noise: { variance: number }
}

/**
 * What is left to draw of the second that is judged. Where a load comes back heavier than known, power is above the cap for the two or
 * three tenths of a second that it takes to be seen, and every mean that holds them stays above for as long as they are in it, unless
 * what follows draws as much less.
 */
export class SecondBudget {
  readonly state: SecondBudgetState

  constructor(state?: SecondBudgetState) {
    this.state = state ?? { timesMs: [], capsW: [], shares: [], noise: { variance: FIRST_NOISE ** 2 } }
  }

  /**
   * @param readingW of the time since the step before, W; null where none came: then it is taken to be as before
   * @param latenessMs of readings
   */
  add(timeMs: number, capW: number, readingW: number | null, latenessMs: number): void {
    const { timesMs, capsW, shares } = this.state
    let thenW = capW
    // A cap was in force until the step after it.
    for (let i = timesMs.length - 1; i >= 0 && (timesMs[i + 1] ?? timeMs) > timeMs - OF_BEFORE_MS - latenessMs; i--) {
      thenW = Math.max(thenW, capsW[i]!)
    }
    const before = shares[shares.length - 1] ?? 0
    const share = readingW === null ? before : readingW / thenW
    this.#learnNoise(share - before)
    timesMs.push(timeMs)
    capsW.push(capW)
    shares.push(share)
    while (timesMs.length > CAPACITY || timesMs[0]! < timeMs - KEPT_MS) {
      timesMs.shift()
      capsW.shift()
      shares.shift()
    }
  }

  /**
   * Whether more than the cap was drawn in the last second, beyond what readings scatter: by one of them, two in a row, or their mean.
   *
   * @param average the board's own mean of that second, share of the cap; null where it has none
   */
  exceeded(average: number | null): boolean {
    const { timesMs, shares } = this.state
    const noise = Math.sqrt(this.state.noise.variance)
    const fromMs = timesMs[timesMs.length - 1]! - SECOND_MS - SHOWS_MS
    if (this.mean > 1 + Math.max(MEAN, MEAN_SIGMAS * noise) && (average === null || average > AGREES)) return true
    if (this.#pulses(fromMs, noise)) return false
    const one = 1 + Math.max(ONE, ONE_SIGMAS * noise)
    const two = 1 + Math.max(TWO, TWO_SIGMAS * noise)
    for (let i = timesMs.length - 1; i > 0 && timesMs[i - 1]! >= fromMs; i--) {
      if (shares[i]! > one) return true
      // One that is exactly as before was not read anew, or lost.
      const anew = shares[i] !== shares[i - 1] && timesMs[i]! - timesMs[i - 1]! >= APART_MS
      if (anew && Math.min(shares[i]!, shares[i - 1]!) > two) return true
    }
    return false
  }

  /** Nothing of the time from then on was higher than what the second before it had: a load that goes up and down, whose mean tells. */
  #pulses(fromMs: number, noise: number): boolean {
    const { timesMs, shares } = this.state
    let [before, since] = [0, 0]
    for (const [i, share] of shares.entries()) {
      if (timesMs[i]! >= fromMs) since = Math.max(since, share)
      else if (timesMs[i]! >= fromMs - SECOND_MS) before = Math.max(before, share)
    }
    return since <= before + TWO_READINGS * noise
  }

  /** Mean of the last second, share of the cap; 0 where less of it is known. */
  get mean(): number {
    const { timesMs } = this.state
    const nowMs = timesMs[timesMs.length - 1]!
    return nowMs - timesMs[0]! < 0.95 * SECOND_MS ? 0 : this.#drawn(nowMs - SECOND_MS) / SECOND_MS
  }

  /** The share of the cap that may be drawn from now on, so that no mean of a second is above what is aimed at from soon on. */
  left(): number {
    const { timesMs, shares } = this.state
    const last = timesMs.length - 1
    if (last < 1) return Number.POSITIVE_INFINITY
    const nowMs = timesMs[last]!
    // Until the answer shows, the board draws what it draws.
    const now = (shares[last]! + shares[last - 1]!) / 2
    const showsMs = nowMs + SHOWS_MS
    let lowest = Number.POSITIVE_INFINITY
    for (let endMs = nowMs + SOON_MS; endMs <= showsMs + SECOND_MS; endMs += STEP_MS) {
      const fromMs = endMs - SECOND_MS
      const drawn = this.#drawn(fromMs) + now * (showsMs - Math.max(fromMs, nowMs))
      lowest = Math.min(lowest, (AIMED * SECOND_MS - drawn) / (endMs - Math.max(fromMs, showsMs)))
    }
    return Math.max(LEAST, lowest)
  }

  /** Two readings of one power differ by twice the variance of one; what stands still was not read anew. */
  #learnNoise(difference: number): void {
    const { noise } = this.state
    const square = (difference * difference) / 2
    if (square === 0 || square > OUTLIER_SIGMAS ** 2 * noise.variance) return
    noise.variance += NOISE_WEIGHT * (square - noise.variance)
  }

  /** Drawn from a time until now, share of the cap times ms. */
  #drawn(fromMs: number): number {
    const { timesMs, shares } = this.state
    let drawn = 0
    for (let i = timesMs.length - 1; i > 0 && timesMs[i]! > fromMs; i--) {
      drawn += shares[i]! * (timesMs[i]! - Math.max(fromMs, timesMs[i - 1]!))
    }
    return drawn
  }
}
