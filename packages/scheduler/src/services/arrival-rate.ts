/** Number of samples kept: a minute at ten a second. */
const REMEMBERED = 600
/** Standard deviations by which a short window contradicts a longer one. */
const CONTRADICTION_SIGMAS = 4
/** Samples after which a lull is believed. */
const LULL_SAMPLES = 4
/** Weight of the expected rate before anything was counted, in requests of Poisson traffic. */
const PRIOR_REQUESTS = 50

/**
 * Arrival rate of a service: the mean of the longest window that no shorter one contradicts, down to one sample. The
 * measured burstiness decides what counts as a contradiction.
 */
export class ArrivalRate {
  readonly #timesMs: number[] = []
  readonly #counts: number[] = []
  readonly #ratesPerS: number[] = []
  #perS: number
  #burstiness = 1

  /** @param expectedPerS rate to assume before anything was counted */
  constructor(expectedPerS: number) {
    this.#perS = expectedPerS
  }

  /** Present rate, requests/s. */
  get perS(): number {
    return this.#perS
  }

  /** Variance over mean of the requests in a sample period, at least 1. */
  get burstiness(): number {
    return this.#burstiness
  }

  /** The highest rate of the last minute, requests/s. */
  get peakPerS(): number {
    return this.#ratesPerS.reduce((most, rate) => Math.max(most, rate), this.#perS)
  }

  /** Mean rate of the last seconds, requests/s; the present rate if less was counted. */
  meanPerS(seconds: number): number {
    const { length } = this.#counts
    return length > 10 * seconds ? this.#over(10 * seconds) : this.#perS
  }

  /** @param arrived requests since the service began; a lower count starts again */
  update(timeMs: number, arrived: number): void {
    const last = this.#timesMs.length - 1
    if (last >= 0 && arrived < this.#counts[last]!) {
      this.#timesMs.length = 0
      this.#counts.length = 0
    } else if (last >= 0 && timeMs <= this.#timesMs[last]!) return
    this.#timesMs.push(timeMs)
    this.#counts.push(arrived)
    if (this.#counts.length > REMEMBERED + 1) {
      this.#timesMs.shift()
      this.#counts.shift()
    }
    if (this.#counts.length < 2) return
    this.#burstiness = this.#dispersion()
    this.#perS = this.#longest()
    this.#ratesPerS.push(this.#perS)
    if (this.#ratesPerS.length > REMEMBERED) this.#ratesPerS.shift()
  }

  /** Dispersion from the differences of successive counts, which a slow change of the rate does not affect. */
  #dispersion(): number {
    const counts = this.#counts
    let squares = 0
    for (let i = 2; i < counts.length; i++) {
      const difference = counts[i]! - 2 * counts[i - 1]! + counts[i - 2]!
      squares += difference * difference
    }
    const arrived = counts.at(-1)! - counts[0]!
    return Math.min(1000, Math.max(1, (squares / 2 + PRIOR_REQUESTS) / (arrived + PRIOR_REQUESTS)))
  }

  #longest(): number {
    let perS = this.#over(1)
    for (let samples = 2; samples < this.#counts.length; samples *= 2) {
      const longer = this.#over(samples)
      if (!this.#contradicted(longer, samples)) perS = longer
    }
    return perS
  }

  #contradicted(perS: number, samples: number): boolean {
    for (let shorter = 1; shorter < samples; shorter *= 2) {
      const seconds = this.#seconds(shorter)
      const surplus = (this.#over(shorter) - perS) * seconds
      const sigma = Math.sqrt(this.#burstiness * Math.max(1, perS * seconds))
      if (surplus > CONTRADICTION_SIGMAS * sigma) return true
      if (shorter >= LULL_SAMPLES && -surplus > CONTRADICTION_SIGMAS * sigma) return true
    }
    return false
  }

  /** Mean rate over the last samples, requests/s. */
  #over(samples: number): number {
    return (this.#counts.at(-1)! - this.#counts.at(-1 - samples)!) / this.#seconds(samples)
  }

  #seconds(samples: number): number {
    return (this.#timesMs.at(-1)! - this.#timesMs.at(-1 - samples)!) / 1000
  }
}
