/** Samples that are remembered: a minute of them at ten a second. */
const REMEMBERED = 600
/** Standard deviations by which a short window contradicts a longer one. */
const CONTRADICTION_SIGMAS = 4
/** A lull is believed from so many samples on. */
const LULL_SAMPLES = 4
/** Requests of Poisson traffic that are believed before anything was counted. */
const PRIOR_REQUESTS = 50

/**
 * The rate of a service by the count of its arrivals: the mean of the longest window that no shorter one contradicts, down to one
 * sample. What counts as a contradiction follows from the measured burstiness.
 */
export class ArrivalRate {
  readonly #timesMs: number[] = []
  readonly #counts: number[] = []
  readonly #ratesPerS: number[] = []
  #perS: number
  #burstiness = 1

  /** @param expectedPerS what to believe before anything was counted */
  constructor(expectedPerS: number) {
    this.#perS = expectedPerS
  }

  /** Requests/s now. */
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

  /** Mean rate of the last seconds, requests/s; the rate of now where less was counted. */
  meanPerS(seconds: number): number {
    const { length } = this.#counts
    return length > 10 * seconds ? this.#over(10 * seconds) : this.#perS
  }

  /** @param arrived requests since the service began; a lower count begins again */
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

  /** By the differences of successive counts, which a slow change of the rate does not enter. */
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

  /** Requests/s over the last samples. */
  #over(samples: number): number {
    return (this.#counts.at(-1)! - this.#counts.at(-1 - samples)!) / this.#seconds(samples)
  }

  #seconds(samples: number): number {
    return (this.#timesMs.at(-1)! - this.#timesMs.at(-1 - samples)!) / 1000
  }
}
