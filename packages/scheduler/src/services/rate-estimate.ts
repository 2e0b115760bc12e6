/** Time constants of the two means, ms: one that follows bursts, one that knows the rate. */
const FAST_MS = 400
const SLOW_MS = 5000
/** How far ahead a trend is believed, ms: what a change of clock needs and a little more. */
const AHEAD_MS = 1500
/** Standard deviations of a Poisson count by which the fast mean must differ to be believed alone. */
const BURST_SIGMAS = 3
/** What a burst comes to is known after this, ms: then the fast mean has gone five sixths of the way, and the slow one follows it. */
const KNOWN_AFTER_MS = 800

/** The rate of a service by its count of arrivals: a mean with a trend for what is planned, a fast one for bursts. */
export class RateEstimate {
  #fastPerS: number
  #slowPerS: number
  #trendPerS2 = 0
  #arrived: number | undefined
  #timeMs = 0
  #burstSinceMs: number | undefined

  /** @param expectedPerS what to believe before anything was counted */
  constructor(expectedPerS: number) {
    this.#fastPerS = expectedPerS
    this.#slowPerS = expectedPerS
  }

  /** Requests/s over the last seconds. */
  get meanPerS(): number {
    return this.#slowPerS
  }

  /** Requests/s of the last moment: noisy. */
  get recentPerS(): number {
    return this.#fastPerS
  }

  /** Requests/s to be ready for: the mean and where its trend leads, or the last moment where that is a burst. */
  get aheadPerS(): number {
    const trended = this.#slowPerS + Math.max(0, (this.#trendPerS2 * AHEAD_MS) / 1000)
    return this.bursting ? Math.max(trended, this.#fastPerS) : trended
  }

  /** The last moment is far above the mean, further than chance would have it, and what it comes to cannot be told yet. */
  get bursting(): boolean {
    const sigma = Math.sqrt((1000 * this.#slowPerS) / (2 * FAST_MS))
    return this.#fastPerS > this.#slowPerS + BURST_SIGMAS * sigma
  }

  /** @param arrived requests since the service began; one that falls begins again, and says nothing of the time before */
  update(timeMs: number, arrived: number): void {
    const before = this.#arrived
    const passedMs = timeMs - this.#timeMs
    const isFirst = before === undefined || arrived < before
    if (!isFirst && passedMs <= 0) return
    this.#arrived = arrived
    this.#timeMs = timeMs
    if (isFirst) return
    const ratePerS = (1000 * (arrived - before)) / passedMs
    const slowBefore = this.#slowPerS
    this.#fastPerS += weight(passedMs, FAST_MS) * (ratePerS - this.#fastPerS)
    this.#slowPerS += weight(passedMs, SLOW_MS) * (ratePerS - this.#slowPerS)
    const slope = (1000 * (this.#slowPerS - slowBefore)) / passedMs
    this.#trendPerS2 += weight(passedMs, SLOW_MS) * (slope - this.#trendPerS2)
    this.#followStep(timeMs)
  }

  /** A rate that stays above the mean has stepped up: the mean goes where the fast one is heading. */
  #followStep(timeMs: number): void {
    if (!this.bursting) {
      this.#burstSinceMs = undefined
      return
    }
    this.#burstSinceMs ??= timeMs
    if (timeMs - this.#burstSinceMs < KNOWN_AFTER_MS) return
    this.#slowPerS += (this.#fastPerS - this.#slowPerS) / weight(KNOWN_AFTER_MS, FAST_MS)
    this.#trendPerS2 = 0
    this.#burstSinceMs = undefined
  }
}

function weight(passedMs: number, constantMs: number): number {
  return 1 - Math.exp(-passedMs / constantMs)
}
