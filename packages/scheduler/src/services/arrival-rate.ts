/** Number of samples kept: one minute at ten samples a second. */
const REMEMBERED = 600
/** A short window contradicts a longer one if their counts differ by more than this many standard deviations. */
const CONTRADICTION_SIGMAS = 4
/** A lower rate counts as a contradiction only in a window of at least this many samples. */
const LULL_SAMPLES = 4
/**
 * Weight of the prior in the estimate of burstiness, as a number of requests. The prior is Poisson traffic (burstiness
 * 1). It outweighs the measurement until more requests than this have arrived.
 */
const PRIOR_REQUESTS = 50

/**
 * Estimates the arrival rate of a service: the mean of the longest window that no shorter window contradicts. The
 * windows go down to one sample. The measured burstiness sets how large a difference counts as a contradiction.
 */
export class ArrivalRate {
  readonly #timesMs: number[] = []
  readonly #counts: number[] = []
  readonly #ratesPerS: number[] = []
  #perS: number
  #burstiness = 1

  /** @param expectedPerS rate to assume until requests have been counted, requests/s */
  constructor(expectedPerS: number) {
    this.#perS = expectedPerS
  }

  /** Present estimate of the rate, requests/s. */
  get perS(): number {
    return this.#perS
  }

  /** Variance divided by mean of the number of requests in a sample period; at least 1. */
  get burstiness(): number {
    return this.#burstiness
  }

  /** The highest estimated rate of the last minute, requests/s. */
  get peakPerS(): number {
    return this.#ratesPerS.reduce((most, rate) => Math.max(most, rate), this.#perS)
  }

  /** Mean rate over the given time, requests/s; the present estimate if fewer samples were counted. */
  meanPerS(seconds: number): number {
    const { length } = this.#counts
    return length > 10 * seconds ? this.#over(10 * seconds) : this.#perS
  }

  /** @param arrived number of requests since the service began; a lower number than before restarts the count */
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

  /**
   * Variance divided by mean of the counts per sample. The variance is taken from differences of successive counts,
   * which a slow change of the rate does not affect.
   */
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

  /** Mean rate over the given number of last samples, requests/s. */
  #over(samples: number): number {
    return (this.#counts.at(-1)! - this.#counts.at(-1 - samples)!) / this.#seconds(samples)
  }

  #seconds(samples: number): number {
    return (this.#timesMs.at(-1)! - this.#timesMs.at(-1 - samples)!) / 1000
  }
}
